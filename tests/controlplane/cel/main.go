// Expressions evaluated by Kubernetes' own CEL environment: cel-go with the API server's libraries.
//
// Input: one JSON object a line, {"expression": "..."}. Output: one JSON object a line, with "value"
// or, if there is none, "error", and "refused" if the expression does not compile.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/environment"
)

type question struct {
	Expression string `json:"expression"`
}

type answer struct {
	Value   any    `json:"value,omitempty"`
	Error   string `json:"error,omitempty"`
	Refused string `json:"refused,omitempty"`
	Type    string `json:"type,omitempty"`
}

func main() {
	set := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	env, err := set.Env(environment.StoredExpressions)
	must(err)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var asked question
		must(json.Unmarshal(lines.Bytes(), &asked))
		text, err := json.Marshal(evaluate(env, asked.Expression))
		must(err)
		fmt.Fprintln(out, string(text))
	}
	must(lines.Err())
}

func evaluate(env *cel.Env, expression string) answer {
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return answer{Refused: issues.Err().Error()}
	}
	program, err := env.Program(ast)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	value, _, err := program.Eval(map[string]any{})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: plain(value), Type: value.Type().TypeName()}
}

func plain(value ref.Val) any {
	switch found := value.(type) {
	case types.Bool:
		return bool(found)
	case types.Int:
		return int64(found)
	case types.Double:
		return float64(found)
	case types.String:
		return string(found)
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(found)
	case types.Duration:
		return fmt.Sprintf("%gs", found.Seconds())
	case types.Timestamp:
		return found.UTC().Format(time.RFC3339)
	case traits.Mapper:
		result := map[string]any{}
		for each := found.Iterator(); each.HasNext() == types.True; {
			key := each.Next()
			result[fmt.Sprint(key.Value())] = plain(found.Get(key))
		}
		return result
	case traits.Lister:
		result := []any{}
		for each := found.Iterator(); each.HasNext() == types.True; {
			result = append(result, plain(each.Next()))
		}
		return result
	}
	return map[string]any{"type": value.Type().TypeName()}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
