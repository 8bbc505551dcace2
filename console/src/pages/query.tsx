// The query workbench: a statement with parameters, its rows, its plan, advice for indexes, and the statements before.
import { useRef, useState } from 'preact/hooks';
import { planSentences } from '../../../src/main/shell/plan-sentences.ts';
import type { ApiError } from '../api/client.ts';
import { CodeField } from '../kit/code-field.tsx';
import { Button, Field } from '../kit/controls.tsx';
import { objectProblem } from '../kit/json-text.ts';
import { Page, Problem } from '../kit/notices.tsx';
import { asApiError } from '../kit/use-resource.ts';
import { PlanDrawing } from './plan-drawing.tsx';
import { Advice } from './query-advice.tsx';
import { InferredFields } from './query-fields.tsx';
import { Results } from './query-results.tsx';
import { history, keepStatement, type Outcome, runStatement } from './query-run.ts';
import { History, Saved } from './query-saved.tsx';

type Shown =
  | { readonly kind: 'rows'; readonly outcome: Outcome }
  | { readonly kind: 'plan'; readonly sentences: readonly string[]; readonly plan: unknown }
  | { readonly kind: 'advice'; readonly advice: unknown };

/** What is done with the statement. */
type Act = 'run' | 'explain' | 'advise';

const before: Readonly<Record<Act, string>> = { run: '', explain: 'EXPLAIN ', advise: 'ADVISE ' };

export function Content() {
  const [statement, setStatement] = useState(history()[0] ?? 'SELECT 1 AS one');
  const [parameters, setParameters] = useState('');
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState<ApiError>();
  const [isRunning, setRunning] = useState(false);
  const running = useRef<AbortController | null>(null);
  const wrongParameters =
    parameters.trim() === '' ? undefined : objectProblem(parameters, '{"$name": value}');
  const run = async (act: Act) => {
    const abort = new AbortController();
    running.current = abort;
    setRunning(true);
    setProblem(undefined);
    setShown(undefined);
    try {
      const outcome = await runStatement(before[act] + statement, parameters, abort.signal);
      if (act === 'run') keepStatement(statement);
      setShown(shownFor(act, outcome));
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
          void run('run');
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void run('run');
        }}
      >
        <CodeField
          label="Statement"
          language="sqlpp"
          value={statement}
          onInput={setStatement}
          rows={6}
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
          <Button disabled={isRunning || wrongParameters !== undefined} onClick={() => void run('explain')}>
            Explain
          </Button>
          <Button disabled={isRunning || wrongParameters !== undefined} onClick={() => void run('advise')}>
            Advise
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
          <PlanDrawing plan={shown.plan} />
          <details>
            <summary>Plan as JSON</summary>
            <pre>{JSON.stringify(shown.plan, null, 2)}</pre>
          </details>
        </section>
      )}
      {shown?.kind === 'advice' && <Advice advice={shown.advice} onChoose={setStatement} />}
      <Saved statement={statement} onChoose={setStatement} />
      <History onChoose={setStatement} />
      <InferredFields />
    </Page>
  );
}

function shownFor(act: Act, outcome: Outcome): Shown {
  const [row] = outcome.rows;
  if (act === 'run') return { kind: 'rows', outcome };
  if (act === 'advise') return { kind: 'advice', advice: row };
  const { plan } = (row ?? {}) as { plan?: unknown };
  return { kind: 'plan', plan, sentences: planSentences(plan) };
}
