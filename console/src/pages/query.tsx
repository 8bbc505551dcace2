// The query workbench: a statement with parameters, its rows as table or JSON, its plan, and the statements before.
import { useRef, useState } from 'preact/hooks';
import { planSentences } from '../../../src/main/shell/plan-sentences.ts';
import type { ApiError } from '../api/client.ts';
import { Button, Field } from '../kit/controls.tsx';
import { objectProblem } from '../kit/json-text.ts';
import { Page, Problem } from '../kit/notices.tsx';
import { asApiError } from '../kit/use-resource.ts';
import { Results } from './query-results.tsx';
import { history, keepStatement, type Outcome, runStatement } from './query-run.ts';

type Shown =
  | { readonly kind: 'rows'; readonly outcome: Outcome }
  | { readonly kind: 'plan'; readonly sentences: readonly string[]; readonly plan: unknown };

export function Content() {
  const [statement, setStatement] = useState(history()[0] ?? 'SELECT 1 AS one');
  const [parameters, setParameters] = useState('');
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState<ApiError>();
  const [isRunning, setRunning] = useState(false);
  const running = useRef<AbortController | null>(null);
  const wrongParameters =
    parameters.trim() === '' ? undefined : objectProblem(parameters, '{"$name": value}');
  const run = async (explains: boolean) => {
    const abort = new AbortController();
    running.current = abort;
    setRunning(true);
    setProblem(undefined);
    setShown(undefined);
    try {
      const text = explains ? `EXPLAIN ${statement}` : statement;
      const outcome = await runStatement(text, parameters, abort.signal);
      if (!explains) keepStatement(statement);
      const { plan } = (outcome.rows[0] ?? {}) as { plan?: unknown };
      setShown(explains ? { kind: 'plan', plan, sentences: planSentences(plan) } : { kind: 'rows', outcome });
    } catch (error) {
      if ((error as Error).name !== 'AbortError') setProblem(asApiError(error));
    } finally {
      setRunning(false);
    }
  };
  return (
    <Page title="Query">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(false);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void run(false);
        }}
      >
        <Field
          label="Statement"
          value={statement}
          onInput={setStatement}
          rows={6}
          mono
          hint="Ctrl+Enter runs it."
        />
        <Field
          label="Parameters"
          value={parameters}
          onInput={setParameters}
          mono
          hint={'A JSON object: {"$country": "France"}'}
          problem={wrongParameters}
        />
        <div class="row">
          <Button submit kind="main" disabled={isRunning || wrongParameters !== undefined}>
            Run
          </Button>
          <Button disabled={isRunning || wrongParameters !== undefined} onClick={() => void run(true)}>
            Explain
          </Button>
          {isRunning && <Button onClick={() => running.current?.abort()}>Cancel</Button>}
        </div>
      </form>
      <Problem problem={problem} />
      <div aria-live="polite">{isRunning && <p class="quiet">The statement runs…</p>}</div>
      {shown?.kind === 'rows' && <Results outcome={shown.outcome} />}
      {shown?.kind === 'plan' && (
        <section aria-label="Plan">
          <h2>Plan</h2>
          <ol>
            {shown.sentences.map((sentence, index) => (
              <li key={index}>{sentence}</li>
            ))}
          </ol>
          <details>
            <summary>Plan as JSON</summary>
            <pre>{JSON.stringify(shown.plan, null, 2)}</pre>
          </details>
        </section>
      )}
      <History onChoose={setStatement} />
    </Page>
  );
}

function History({ onChoose }: { onChoose: (statement: string) => void }) {
  const statements = history();
  if (statements.length === 0) return null;
  return (
    <details>
      <summary>Statements before ({statements.length})</summary>
      <ul>
        {statements.map((statement) => (
          <li key={statement}>
            <button type="button" class="link mono" onClick={() => onChoose(statement)}>
              {statement}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
