// Renders the templates of a Helm chart as Helm does, with the functions that our chart uses: reads {"files": {name: text}, "data": …}
// from standard input, and writes {name: text}.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"
)

type input struct {
	Files map[string]string `json:"files"`
	Data  map[string]any    `json:"data"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return err
	}
	root := template.New("chart").Option("missingkey=error")
	root.Funcs(functions(root))
	for name, text := range in.Files {
		if _, err := root.New(name).Parse(text); err != nil {
			return err
		}
	}
	rendered := map[string]string{}
	for name := range in.Files {
		var out bytes.Buffer
		if err := root.ExecuteTemplate(&out, name, in.Data); err != nil {
			return err
		}
		rendered[name] = out.String()
	}
	return json.NewEncoder(os.Stdout).Encode(rendered)
}

func functions(root *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := root.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"nindent": func(width int, text string) string {
			pad := "\n" + strings.Repeat(" ", width)
			return pad + strings.ReplaceAll(text, "\n", pad)
		},
		"quote": func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"int64": func(value float64) int64 { return int64(value) },
		"default": func(fallback, value any) any {
			if value == nil || value == "" {
				return fallback
			}
			return value
		},
		"required": func(message string, value any) (any, error) {
			if value == nil || value == "" {
				return nil, errors.New(message)
			}
			return value, nil
		},
		// JSON is YAML.
		"toYaml": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
	}
}
