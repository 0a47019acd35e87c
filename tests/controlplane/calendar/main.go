// Openings of schedules by wall clock: an independent reading of RFC 5545 over Go's own time zones.
//
// Nothing is computed forwards. The program walks through every minute of UTC, asks Go what the
// clock on the wall shows, and tests that against each rule. A time that the clock never shows
// never opens; a time that it shows twice opens at the first.
//
// Input: one JSON object a line (a zone, its schedules, a span). Output: one JSON object a line, for
// each schedule its openings as [start, "wall clock at the end"].
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

type schedule struct {
	Start    string   `json:"start"`
	Duration int64    `json:"duration"`
	Rule     string   `json:"rule"`
	Exclude  []string `json:"exclude"`
}

type question struct {
	Zone      string     `json:"zone"`
	From      int64      `json:"from"`
	Until     int64      `json:"until"`
	Schedules []schedule `json:"schedules"`
}

type opening struct {
	Start int64  `json:"start"`
	End   string `json:"end"`
}

const wall = "2006-01-02T15:04"

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var asked question
		must(json.Unmarshal(lines.Bytes(), &asked))
		text, err := json.Marshal(answer(asked))
		must(err)
		fmt.Fprintln(out, string(text))
	}
	must(lines.Err())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(asked question) [][]opening {
	zone, err := time.LoadLocation(asked.Zone)
	must(err)
	rules := make([]*rule, len(asked.Schedules))
	byMinute := make([][]int, 24*60)
	for index, each := range asked.Schedules {
		rules[index] = newRule(each)
		for minute := range rules[index].minutes {
			byMinute[minute] = append(byMinute[minute], index)
		}
	}
	found := make([][]opening, len(rules))
	shown := map[string]int64{} // the wall clock of the last hours, to see what comes twice
	for at := asked.From; at < asked.Until; at += 60 {
		local := time.Unix(at, 0).In(zone)
		candidates := byMinute[local.Hour()*60+local.Minute()]
		if len(candidates) == 0 {
			continue
		}
		text := local.Format(wall)
		if first, twice := shown[text]; twice && at-first < 86400 {
			continue
		}
		shown[text] = at
		if len(shown) > 5000 {
			shown = map[string]int64{text: at}
		}
		for _, index := range candidates {
			if rules[index].takes(local, text) {
				end := time.Unix(at+asked.Schedules[index].Duration, 0).In(zone).Format(wall)
				found[index] = append(found[index], opening{Start: at, End: end})
			}
		}
	}
	return found
}

type rule struct {
	start    time.Time // on the wall, as if it were UTC
	text     string
	parts    map[string][]string
	minutes  map[int]bool // of the day
	excluded map[string]bool
	until    string
	left     int // of COUNT, -1 without
	interval int
	week     time.Weekday
}

func newRule(each schedule) *rule {
	start, err := time.Parse(wall, each.Start)
	must(err)
	made := &rule{start: start, text: each.Start, parts: map[string][]string{}, left: -1,
		interval: 1, week: time.Monday, minutes: map[int]bool{}, excluded: map[string]bool{}}
	for _, day := range each.Exclude {
		made.excluded[day] = true
	}
	if each.Rule == "" {
		made.minutes[start.Hour()*60+start.Minute()] = true
		return made
	}
	for _, part := range strings.Split(each.Rule, ";") {
		name, value, _ := strings.Cut(part, "=")
		made.parts[name] = strings.Split(value, ",")
	}
	if found, has := made.parts["INTERVAL"]; has {
		made.interval = number(found[0])
	}
	if found, has := made.parts["COUNT"]; has {
		made.left = number(found[0])
	}
	if found, has := made.parts["UNTIL"]; has {
		until, err := time.Parse("20060102T150405", found[0])
		must(err)
		made.until = until.Format(wall)
	}
	if found, has := made.parts["WKST"]; has {
		made.week = weekday(found[0])
	}
	made.setMinutes()
	return made
}

func (r *rule) setMinutes() {
	hours := numbers(r.parts["BYHOUR"])
	if len(hours) == 0 {
		hours = []int{r.start.Hour()}
		if r.frequency() == "HOURLY" {
			hours = nil
			for hour := range 24 {
				hours = append(hours, hour)
			}
		}
	}
	minutes := numbers(r.parts["BYMINUTE"])
	if len(minutes) == 0 {
		minutes = []int{r.start.Minute()}
	}
	for _, hour := range hours {
		for _, minute := range minutes {
			r.minutes[hour*60+minute] = true
		}
	}
}

func (r *rule) frequency() string {
	if found, has := r.parts["FREQ"]; has {
		return found[0]
	}
	return ""
}

// takes says whether an opening starts when the wall shows this. COUNT counts what the wall shows,
// excluded days included: RFC 5545, 3.3.10 ("MUST NOT be counted" of a time that does not exist).
func (r *rule) takes(local time.Time, text string) bool {
	if text < r.text || (r.until != "" && text > r.until) || r.left == 0 {
		return false
	}
	on := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
	if r.frequency() == "" {
		if text != r.text {
			return false
		}
	} else if !r.inInterval(on) || !r.dayFits(on) || !r.atPosition(on) {
		return false
	}
	if r.left > 0 {
		r.left--
	}
	return !r.excluded[text[:10]]
}

func day(of time.Time) int { return int(midnight(of).Unix() / 86400) }

func midnight(of time.Time) time.Time {
	return time.Date(of.Year(), of.Month(), of.Day(), 0, 0, 0, 0, time.UTC)
}

func (r *rule) inInterval(on time.Time) bool {
	var passed int
	switch r.frequency() {
	case "HOURLY":
		passed = int(on.Truncate(time.Hour).Sub(r.start.Truncate(time.Hour)) / time.Hour)
	case "DAILY":
		passed = day(on) - day(r.start)
	case "WEEKLY":
		passed = (r.weekStart(on) - r.weekStart(r.start)) / 7
	case "MONTHLY":
		passed = (on.Year()-r.start.Year())*12 + int(on.Month()) - int(r.start.Month())
	case "YEARLY":
		passed = on.Year() - r.start.Year()
	}
	return passed%r.interval == 0
}

func (r *rule) weekStart(of time.Time) int {
	return day(of) - (int(of.Weekday())-int(r.week)+7)%7
}

func (r *rule) dayFits(on time.Time) bool {
	if months := numbers(r.parts["BYMONTH"]); len(months) > 0 && !slices.Contains(months, int(on.Month())) {
		return false
	}
	monthDays, yearDays, days := numbers(r.parts["BYMONTHDAY"]), numbers(r.parts["BYYEARDAY"]), r.parts["BYDAY"]
	if len(monthDays)+len(yearDays)+len(days) == 0 {
		return r.likeStart(on)
	}
	if len(monthDays) > 0 && !counted(monthDays, on.Day(), daysOfMonth(on)) {
		return false
	}
	if len(yearDays) > 0 && !counted(yearDays, on.YearDay(), daysOfYear(on)) {
		return false
	}
	return len(days) == 0 || slices.ContainsFunc(days, func(text string) bool { return r.isDay(on, text) })
}

func (r *rule) likeStart(on time.Time) bool {
	switch r.frequency() {
	case "WEEKLY":
		return on.Weekday() == r.start.Weekday()
	case "MONTHLY":
		return on.Day() == r.start.Day()
	case "YEARLY":
		return on.Day() == r.start.Day() && (len(r.parts["BYMONTH"]) > 0 || on.Month() == r.start.Month())
	}
	return true
}

func daysOfMonth(on time.Time) int {
	return time.Date(on.Year(), on.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func daysOfYear(on time.Time) int {
	return time.Date(on.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
}

// counted says whether a place, from 1, is named from the front or, with a sign, from the end.
func counted(wanted []int, place, length int) bool {
	return slices.Contains(wanted, place) || slices.Contains(wanted, place-length-1)
}

func (r *rule) isDay(on time.Time, text string) bool {
	if weekday(text[len(text)-2:]) != on.Weekday() {
		return false
	}
	if len(text) == 2 {
		return true
	}
	place, length := on.Day(), daysOfMonth(on)
	if r.frequency() == "YEARLY" && len(r.parts["BYMONTH"]) == 0 {
		place, length = on.YearDay(), daysOfYear(on)
	}
	wanted := number(text[:len(text)-2])
	return (place-1)/7+1 == wanted || -((length-place)/7+1) == wanted
}

// atPosition says whether a moment is at one of the places of BYSETPOS in its month, all moments of
// the rule in that month counted, those included that lie before the start or do not exist.
func (r *rule) atPosition(on time.Time) bool {
	places := numbers(r.parts["BYSETPOS"])
	if len(places) == 0 {
		return true
	}
	var all []time.Time
	for date := range daysOfMonth(on) {
		each := time.Date(on.Year(), on.Month(), date+1, 0, 0, 0, 0, time.UTC)
		if r.dayFits(each) {
			for minute := range 24 * 60 {
				if r.minutes[minute] {
					all = append(all, each.Add(time.Duration(minute)*time.Minute))
				}
			}
		}
	}
	return counted(places, slices.IndexFunc(all, on.Equal)+1, len(all))
}

func weekday(text string) time.Weekday {
	return time.Weekday(slices.Index([]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}, text))
}

func number(text string) int {
	found, err := strconv.Atoi(strings.TrimPrefix(text, "+"))
	must(err)
	return found
}

func numbers(texts []string) []int {
	var found []int
	for _, text := range texts {
		found = append(found, number(text))
	}
	return found
}
