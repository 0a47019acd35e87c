"""The bugs that are planted, by promise. See `seeded`."""

import sys

from tests.torture.seeded import HISTORIES, Bug, report

SENDING, FENCE = "execution/terminate.py", "execution/claims.py"
OBSERVE, ENDINGS = "execution/observe.py", "execution/terminate.py"
STARTS, NODES, ACCEPT = "execution/starts.py", "execution/nodes.py", "execution/admit_plans.py"
REQUESTS, STEPS = "execution/request_records.py", "execution/next_steps.py"
RUN, EFFECTS = "workflows/apply/run.py", "workflows/apply/effects.py"
TICKETS, BELIEF = "workflows/apply/held_claims.py", "workflows/apply/snapshot_sanity.py"
SHOWN = "workflows/apply/as_shown.py"
HOLD, JOURNAL = "workflows/apply/hold.py", "workflows/ledger/writer.py"
BEGUN = "workflows/approval/started_requests.py"
APPROVALS, STOPS = "workflows/approval/read_approvals.py", "workflows/core/stop_conditions.py"
JUDGED = "workflows/approval/judged_merges.py"
JUDGED_TESTS = "tests/unit/workflows/test_judged_merges.py"
GIT, LIMITS = "adapters/git/process.py", "adapters/sandbox/seccomp.py"
HEAL, PLANS = "planner/goals/heal.py", "tests/unit/wiring/test_planning.py"
FOUND = "tests/torture/test_torture.py::test_what_was_found_stays_mended"
LATE = "tests/faults/test_late_effects.py"
UNSHOWN = "tests/faults/test_followed.py -k nothing_is_sent"
FENCED, EARLY = "tests/faults/test_fence.py", "tests/faults/test_deleted_early.py"
REFUSED = "tests/faults/test_refused_creates.py"
MAINTENANCE = "tests/faults/test_maintenance_crashes.py"
GIT_TESTS, BOMBS = "tests/contracts/test_repository.py", "tests/unit/adapters/test_policy_runner.py"
STEP_TESTS, NODE_TESTS = (
    "tests/unit/execution/test_next_steps.py",
    "tests/unit/execution/test_nodes.py",
)

FIRST_SEEDS = {
    "a claim of one's own counts as unsent": 1100,
    "what was sent is forgotten": 1100,
    "a lost answer counts as a refusal": 1100,
    "claims are given back although they were sent": 1100,
    "nobody asks by name before an end": 2100,
    "numbers of moves are used again": 1060,
    "rules are not asked": 340,
    "a claim has no limit": 370,
    "a node that is gone keeps its moves": 590,
    "lapsed approvals are forgotten": 200,
    "the VM may have restarted": 220,
    "an unreadable stop flag is not set": 220,
}
"""Bugs that show late, with the seed to begin with: 3,000 seeds from there must find them."""


def bug(promise: str, name: str, *edits: str) -> Bug:
    """`edits` are file, old text, new text, again and again; and at last the tests, if any."""
    tests = edits[-1] if len(edits) % 3 else ""
    changes = tuple(zip(edits[0::3], edits[1::3], edits[2::3], strict=False))
    return Bug(
        promise=promise, name=name, changes=changes, tests=tests, start=FIRST_SEEDS.get(name, 0)
    )


BUGS = (
    # I2: at most one VMIM for each effect
    bug("I2", "a claim is over when it may be sent no more", FENCE,
        "return until + self.delivery + self.skew", "return until"),
    bug("I2", "nobody waits for late requests", FENCE,
        "return until + self.delivery + self.skew", "return until + self.skew", FOUND),
    bug("I2", "every announced effect is free at once", FENCE,
        "return is_unsent(view, record) or view.now >= claim_expires_at(record)", "return True",
        STEPS, "    since = 0 if settled else claim_expires_at(record)\n", "    since = 0\n"),
    bug("I2", "a claim of one's own counts as unsent", FENCE,
        "return record.claim is not None and (record.migration, record.claim.epoch) in view.unsent",
        "return record.claim is not None and record.claim.executor == view.executor"),
    bug("I2", "what was sent is forgotten", TICKETS,
        '        self.sent = not self.late()\n        return "" if self.sent else TOO_LATE',
        '        return "" if not self.late() else TOO_LATE'),
    bug("I2", "a lost answer counts as a refusal", EFFECTS,
        "    except OutcomeUnknown as error:\n",
        "    except OutcomeUnknown as error:\n        ticket.refused()\n"),
    bug("I2", "claims are given back although they were sent", TICKETS,
        " or ticket.sent:", ":"),
    bug("I2", "deleted before it is recorded", EFFECTS,
        '    same = at(stored, "spec", default={}) == at(wanted, "spec", default={})\n',
        '    same = at(stored, "spec", default={}) == at(wanted, "spec", default={})\n'
        "    if not same:\n"
        "        shell.cluster.delete_migration(name_of(stored), uid=uid_of(stored))\n", FOUND),
    bug("I2", "one attempt more than was approved", REQUESTS,
        "return self.attempt >= self.attempts", "return self.attempt > self.attempts"),
    bug("I2", "what was put off uses up its attempt", REQUESTS,
        "attempt=record.attempt - 1 if unsent else event.attempt or record.attempt",
        "attempt=event.attempt or record.attempt"),
    # I3: a finished request never fires again
    bug("I3", "nobody asks by name before an end", BELIEF,
        "    return not any(cluster.get_migration(item.name) for item in steps.absent)",
        "    return True"),
    bug("I3", "the server's clock is not asked", BELIEF,
        "    if since and cluster.server_time() < since:\n        return False\n", "", FENCED),
    bug("I3", "numbers of moves are used again", ACCEPT,
        "    if any(move.id <= record.highest_move for move in new):\n        return False\n", ""),
    bug("I3", "what ended may be approved again", ACCEPT,
        "fresh = not record.spent and not began", "fresh = True", STEP_TESTS),
    bug("I3", "a rolled back ledger is believed", "workflows/ledger/anchor.py",
        "    if anchor == anchor_of(Ledger(events=there)):\n", "    if True:\n",
        "tests/faults/test_rolled_back_ledger.py"),
    bug("I3", "another cluster of the name is believed", "workflows/ledger/anchor.py",
        'if not self.uid or name or uid in ("", self.uid):', "if True:"),
    bug("I3", "a cluster that does not say which it is is believed", "workflows/ledger/anchor.py",
        "    except GitbotError as error:\n"
        '        return Anchor(**named, trouble=f"{UNIDENTIFIED}: {error}")\n',
        '    except GitbotError:\n        uid = ""\n'),
    bug("I3", "nothing is looked at again before sending", SENDING,
        "    event = effect.event\n    request",
        "    return ''\n    event = effect.event\n    request", LATE),
    bug("I3", "a cancel in the last moment is not seen", SENDING,
        "request is None or record is None or request.cancelled",
        "request is None or record is None"),
    # I4, I6: rules and limits
    bug("I4", "rules are not asked", "execution/starts.py",
        "    wanted = tuple(moves)\n", "    wanted = tuple(moves)\n    return ()\n"),
    bug("I6", "one slot too many", "execution/cluster_facts.py",
        "if self.running >= limits.slots:", "if self.running > limits.slots:"),
    bug("I6", "what may still come takes no slot", STARTS,
        "        if candidate.claimed:\n            _take(facts, draft, candidate)\n",
        "        if candidate.claimed:\n"),
    bug("I6", "others' migrations take no slot", "execution/cluster_facts.py",
        "        for migration in facts.unfinished:\n            state",
        "        for migration in filter(is_own, facts.unfinished):\n            state",
        STEP_TESTS),
    bug("I2", "the stored spec is not compared", EFFECTS,
        '    same = at(stored, "spec", default={}) == at(wanted, "spec", default={})\n',
        "    same = True\n", REFUSED),
    bug("I2", "any migration of the name is ours", EFFECTS,
        "    return all(have.get(key) == want.get(key) for key in IDENTITY)", "    return True",
        "tests/unit/workflows/test_effects.py"),
    # I5: allowed time
    bug("I5", "freezes are not seen", ENDINGS,
        "        if move.vm.namespaced_name in freeze.vms\n", "        if False\n"),
    bug("I5", "windows are not seen", ENDINGS,
        "spans = intersect(approved.terms.allowed, future)", "spans = future"),
    bug("I5", "a window that is closed after the acceptance stays open", APPROVALS,
        "        if terms is None or only or (terms.void and started):\n",
        "        if terms is None or only or begun.accepted(approval.digest):\n"),
    bug("I5", "the estimate need not fit", ENDINGS,
        "if span.start + move.estimated_seconds <= span.end:", "if span.start < span.end:",
        STEP_TESTS),
    bug("I5", "Pending migrations stay in a freeze", OBSERVE,
        "        if record.vm in freeze.vms and any(", "        if False and any(",
        "tests/faults/test_refused_creates.py"),
    # I7: only what was reviewed
    bug("I7", "a refused merge is judged by the rules of the day", JUDGED,
        "if known is None or known.state is not MergeState.REFUSED:", "if True:", JUDGED_TESTS),
    bug("I7", "a permission that is lost ends what has begun", BEGUN,
        "ends = not (known.unsure or known.lacks_reviews)", "ends = not known.unsure",
        "tests/unit/workflows/test_approvals.py"),
    bug("I7", "reviews are not counted", "execution/approval.py",
        "    if len({review.reviewer for review in qualifying}) < pull.reviews_required:\n",
        "    if False:\n", HISTORIES),
    bug("I7", "approvals of an older head count", "execution/approval.py",
        "pull.head\n        and review.reviewer != pull.author\n    )\n",
        "review.commit\n        and review.reviewer != pull.author\n    )\n",
        "tests/unit/execution/test_approval.py"),
    bug("I7", "the author approves", "execution/approval.py",
        "        and review.reviewer != pull.author\n    )\n", "    )\n", HISTORIES),
    bug("I7", "readers approve", "execution/approval.py",
        "items())\n        if review.approved\n        and review.can_write\n",
        "items())\n        if review.approved\n", HISTORIES),
    bug("I7", "any plan of the pull request counts", "execution/approval.py",
        "[record for record in before_merge if record.head == pull.head]", "before_merge",
        HISTORIES),
    bug("I7", "plans do not expire", "execution/approval.py",
        "    if expires_at and pull.merged_at > expires_at:\n", "    if False:\n", HISTORIES),
    bug("I7", "a request may be edited after its approval", "workflows/core/revision_engine.py",
        "    if reviewed is None or reviewed == intent.spec_digest:\n", "    if True:\n",
        HISTORIES),
    bug("I19", "two merges of one plan are two", "execution/admit_plans.py",
        "    return tuple(found.values())", "    return approved", STEP_TESTS),
    bug("I7", "the base may have moved", APPROVALS,
        "        if found is None or found.spec_digest != reviewed:\n", "        if False:\n",
        "tests/faults/test_judged_again.py"),
    bug("I7", "policies are judged once", "workflows/core/policy_recheck.py",
        "        if not waiting or item.plan is None:", "        if True:",
        "tests/faults/test_judged_again.py"),
    bug("I7", "a rewritten base is believed", "workflows/approval/base_history.py",
        "    if not commit:\n", "    if True:\n",
        "tests/faults/test_histories.py"),
    bug("I7", "an edited proposal file counts", APPROVALS,
        "    return data is None or file_digest(data) in record.files", "    return True",
        "tests/faults/test_histories.py"),
    # I8: the ledger first
    bug("I8", "announced after the effect", JOURNAL,
        "        self.ledger = self._store.append(self.ledger, fresh, changed)\n",
        '        if any(getattr(item, "claim", None) for item in fresh):\n'
        "            self._pending += fresh\n            return\n"
        "        self.ledger = self._store.append(self.ledger, fresh, changed)\n"),
    # I12, I13: crashes, and what is unknown
    bug("I12", "outcomes stay pending after a lost race", JOURNAL,
        "[event for event in self._pending if _is_news(ledger, event)]", "self._pending",
        "tests/faults/test_refused_creates.py"),
    bug("I2", "an answer is forgotten when somebody else writes", JOURNAL,
        "[event for event in self._pending if _is_news(ledger, event)]", "[]", EARLY),
    bug("I2", "hold deletes what is only announced", "workflows/apply/record_before_delete.py",
        "if move.state is MoveState.INTENDED and move.migration in uids", "if False", EARLY),
    bug("I2", "every error of TLS counts as unsent", "adapters/kubernetes/transport.py",
        "(_RequestNotSent if _is_untrusted(error) else _ResponseLost)", "_RequestNotSent",
        "tests/contracts/test_broken_connections.py"),
    bug("I5", "what is merged meanwhile is not compared", RUN,
        "if older or base_head(run.shell) != run.base.commit:", "if older:",
        FENCED),
    bug("I13", "a look of minutes ago is acted on", RUN,
        "(steps.effects and is_stale_look(shell, view.now, looked))", "False",
        FENCED),
    bug("I13", "an unknown outcome is a failure", EFFECTS,
        "        return ()  # the next read of the cluster decides",
        "        return (_failed(shell, effect, error.message),)"),
    bug("I13", "an old list ends moves", RUN,
        "ending_vms_unchanged(\n        shell.cluster, view, steps\n    )", "True",
        "tests/faults/test_old_reads.py"),
    bug("I13", "lists are never doubted", BELIEF,
        "        if not (lasting or passing):\n", "        if True:\n",
        "tests/faults/test_old_reads.py"),
    bug("I13", "an unreadable stop flag is not set", STOPS,
        '        return UnknownStop(f"{UNREADABLE}: {error}")\n    return "" if reason is None',
        '        return ""\n    return "" if reason is None'),
    bug("I13", "clocks that disagree do not matter", STOPS,
        '    if skew <= MAX_SKEW:\n        return ""\n    return UnknownStop(f"{SKEWED}',
        '    if True:\n        return ""\n    return UnknownStop(f"{SKEWED}'),
    bug("I13", "succeeded without its own UID", OBSERVE,
        '    remembered = bool(record.migration_uid) and at(moved, "migrationUid") == '
        "record.migration_uid\n",
        "    remembered = True\n", "tests/faults/test_refused_creates.py"),
    # hold
    bug("hold", "the stop flag is read once", RUN,
        "            stop = _reread_stop_reason(run)\n", '            stop = ""\n'),
    bug("hold", "only the ledger's flag is read again", RUN,
        "    return ledger_stop(run.journal.ledger, run.shell.cluster_name) or "
        "cluster_stop(run.shell)",
        "    return ledger_stop(run.journal.ledger, run.shell.cluster_name)"),
    bug("hold", "only the cluster's flag is read again", RUN,
        "    return ledger_stop(run.journal.ledger, run.shell.cluster_name) or "
        "cluster_stop(run.shell)",
        "    return cluster_stop(run.shell)"),
    bug("hold", "labels are written all the same", RUN,
        "if not isinstance(effect, DeleteMigration):\n            stop =",
        "if not isinstance(effect, DeleteMigration | LabelNode):\n            stop ="),
    # I14: own migrations and cordons
    bug("I14", "any cordon is gitbot's", "execution/cluster_facts.py",
        "    return labels_of(node).get(CORDON_LABEL) in known",
        "    return True", NODE_TESTS),
    bug("I14", "a cordon that a person undid comes again", NODES,
        "    if marked is stands:\n        return None\n", "    if True:\n        return None\n"),
    bug("I14", "cordoned on an older ledger", RUN,
        "            older = not isinstance(effect, CreateMigration) and "
        "run.journal.ledger.head != head\n",
        "            older = False\n", FOUND),
    bug("I14", "cordons stay after a cancel", NODES,
        "    return bool(record.cancelled) or (_must(approved).removed and record.finished)",
        "    return False"),
    bug("I14", "a failed drain gives its node back", NODES,
        "    if not node.cordoned_by_gitbot:\n        mark", "    if True:\n        mark",
        NODE_TESTS),
    bug("I14", "a cordon that a person did again is gitbot's",
        "adapters/kubernetes/kubernetes_cluster.py",
        "return bool(owners) and _MANAGER not in owners", "return False",
        "tests/contracts/test_cluster_faults.py"),
    bug("I14", "the cordon of another window is a late one", NODES,
        "        return mark == mark_of(view, maintenance.occurrence)\n",
        "        return True\n", NODE_TESTS),
    bug("I14", "the mark of a cordon does not name its ledger", "execution/cluster_facts.py",
        ".{occurrence.id}.{ledger}", ".{occurrence.id}", NODE_TESTS),
    bug("I12", "occurrences take turns with labels", NODES,
        "        if held.get(name, maintenance.occurrence) != maintenance.occurrence:\n",
        "        if False:\n", MAINTENANCE),
    bug("I3", "what others wrote is not anchored", "workflows/ledger/anchor.py",
        "or not (known or journal.written)", "or not journal.written",
        "tests/faults/test_rolled_back_ledger.py"),
    bug("I14", "migrations of another gitbot are ended too", HOLD,
        "        if own is not None and str(name_of(migration)) not in own:\n",
        "        if False:\n", "tests/unit/workflows/test_hold.py"),
    bug("I14", "a hook's Git variables are inherited", GIT,
        '    return ["env", *(word for name in inherited for word in ("-u", name))] '
        "if inherited else []",
        "    return []", GIT_TESTS),
    bug("I14", "a person's own repository is fetched into", "adapters/git/branches.py",
        "        if not (self._git.directory / MIRROR).is_file():\n", "        if False:\n",
        GIT_TESTS),
    # I19: everything ends
    bug("I19", "lapsed approvals are forgotten", BEGUN,
        "        return tuple(found)\n\n    def _entered", "        return ()\n\n    def _entered"),
    bug("I19", "nothing expires", ENDINGS,
        "    if next_start(view, approved, move, request) is None:\n", "    if False:\n"),
    bug("I19", "a cancel ends nothing", ENDINGS,
        "    if request.cancelled:\n", "    if False:\n"),
    bug("I19", "a node that is gone keeps its moves", ENDINGS,
        "    if node is None or node.state not in (NodeState.RETURNED, NodeState.CLOSED):\n",
        "    if True:\n"),
    bug("I19", "Pending for good", OBSERVE,
        "    if since and view.now - since > view.pending_timeout:\n", "    if False:\n",
        STEP_TESTS),
    bug("I19", "a refusal that may pass ends the request", EFFECTS,
        "    if error.code in MAY_PASS or any(words in error.message for words in QUOTA):\n",
        "    if False:\n", REFUSED),
    bug("I19", "what is announced stays announced for good", STEPS,
        "    _revert_announcements(draft, candidates, starts.waiting)\n", "", REFUSED),
    bug("I19", "one branch that Git refuses stops everybody", "adapters/git/branches.py",
        "                self.refused[ref] = error.message\n", "                raise\n",
        GIT_TESTS),
    # I20: former executors
    bug("I20", "a claim has no limit", TICKETS,
        "        return self.shell.clock.now() >= self.claim.until or counted >= FENCE.send",
        "        return False"),
    # I21 to I24
    bug("I21", "the chain is not checked", "published/ledger_lines.py",
        "        elif event.previous != previous:\n", "        elif False:\n",
        "tests/unit/published/test_ledger_lines.py"),
    bug("I22", "the VM may have restarted", SENDING,
        "if instance is None or uid_of(instance) != effect.move.vm.uid:", "if instance is None:"),
    bug("I22", "the VM may have left its node", SENDING,
        "    if node != event.source:\n", "    if False:\n", LATE),
    bug("I22", "another VM of that name is moved", ENDINGS,
        "    if uid_of(instance) != move.vm.uid:\n", "    if False:\n", STEP_TESTS),
    bug("I23", "the circuit never opens", "execution/ledger_folds.py",
        "        if limit and count >= limit:\n", "        if False:\n", STEP_TESTS),
    bug("I24", "folders own every namespace", "intents/folder_owners.py",
        "    if not settings.owners:\n", "    if True:\n", "tests/unit/intents/test_owners.py"),
    # what is read and shown
    bug("I11", "the second of two equal keys wins", "documents/composer.py",
        "                self._repeated(event, below)\n", "                pass\n",
        "tests/unit/documents/test_reader.py"),
    bug("I16", "mentions are not split", "reports/escape.py",
        '    return _MARKUP.sub(_entity, marked).replace("\\0", _ZERO_WIDTH_SPACE)',
        '    return _MARKUP.sub(_entity, marked).replace("\\0", "")',
        "tests/laws/test_inert_text.py"),
    bug("I18", "policies may use any memory", LIMITS,
        "    _at_most(resource.RLIMIT_AS, memory * _MIB)\n", "", BOMBS),
    bug("I18", "policies may take any time", LIMITS,
        "    resource.setrlimit(resource.RLIMIT_CPU, (last, hard))\n", "", BOMBS),
    bug("I9", "policies may open connections", LIMITS,
        '    if sys.platform == "linux" and platform.machine() in _MACHINES:\n', "    if False:\n",
        BOMBS),
    bug("I19", "a healing moves a VM back and forth for its old launcher pod", HEAL,
        "after_move(held, source, nodes[0])", "frozenset({nodes[0]})", HEAL,
        "                if left >= before:\n", "                if False:\n",
        "tests/laws/test_endings.py"),
    bug("I18", "a planner that is told to stop may go on", "adapters/sandbox/worker_process.py",
        "                last = min(last, time.monotonic() + self._grace)\n", "", PLANS),
    bug("I19", "a concern without a plan ends the pass", "workflows/propose/run.py",
        "    except LimitExceeded as error:\n        run.journal.note(",
        "    except LimitExceeded as error:\n        raise\n        run.journal.note(",
        "tests/unit/workflows/test_not_in_time.py"),
    bug("I18", "nesting has no bound", "documents/composer.py",
        "        if depth > budget.depth:\n", "        if False:\n",
        "tests/unit/documents/test_reader.py"),
    bug("I2", "what an effect rests on is not read again", RUN,
        "        if not effect_as_shown(run.shell, view, steps, effect):\n", "        if False:\n",
        UNSHOWN),
    bug("I4", "the target node is not read again before an effect", SHOWN,
        "return self._has_node(node) and self._has_pods(node, but=own)",
        "return self._has_pods(node, but=own)", UNSHOWN),
    bug("I4", "the pods of the target node are not read again before an effect", SHOWN,
        "return self._has_node(node) and self._has_pods(node, but=own)",
        "return self._has_node(node)", UNSHOWN),
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(report(BUGS, sys.argv[1:]))
