// The query workbench: a statement with parameters, its rows, its plan, advice for indexes, and earlier statements.
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
import { type Outcome, runStatement } from './query-run.ts';
import { History, Saved } from './query-saved.tsx';
import { addToHistory, history } from './remembered-statements.ts';

type Shown =
  | { readonly kind: 'rows'; readonly outcome: Outcome }
  | { readonly kind: 'plan'; readonly sentences: readonly string[]; readonly plan: unknown }
  | { readonly kind: 'advice'; readonly advice: unknown };

/** What is done with the statement. */
type StatementAction = 'run' | 'explain' | 'advise';

const prefixes: Readonly<Record<StatementAction, string>> = {
  run: '',
  explain: 'EXPLAIN ',
  advise: 'ADVISE ',
};

export function Content() {
  const [statement, setStatement] = useState(history()[0] ?? 'SELECT 1 AS one');
  const [parameters, setParameters] = useState('');
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState<ApiError>();
  const [isRunning, setRunning] = useState(false);
  const running = useRef<AbortController | null>(null);
  const wrongParameters =
    parameters.trim() === '' ? undefined : objectProblem(parameters, '{"$name": value}');
  const run = async (action: StatementAction) => {
    // The key that runs a statement is not disabled as the buttons are.
    if (isRunning || wrongParameters !== undefined) return;
    const abort = new AbortController();
    running.current = abort;
    setRunning(true);
    setProblem(undefined);
    setShown(undefined);
    try {
      const outcome = await runStatement(prefixes[action] + statement, parameters, abort.signal);
      if (action === 'run') addToHistory(statement);
      setShown(shownFor(action, outcome));
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
        <RunButtons
          isRunning={isRunning}
          isReady={wrongParameters === undefined}
          onRun={(action) => void run(action)}
          onCancel={() => running.current?.abort()}
        />
      </form>
      <Problem problem={problem} />
      <div aria-live="polite">{isRunning && <p class="quiet">The statement runs…</p>}</div>
      {shown && <ShownResult shown={shown} onChoose={setStatement} />}
      <Saved statement={statement} onChoose={setStatement} />
      <History onChoose={setStatement} />
      <InferredFields />
    </Page>
  );
}

interface RunButtonsProps {
  readonly isRunning: boolean;
  readonly isReady: boolean;
  readonly onRun: (action: StatementAction) => void;
  readonly onCancel: () => void;
}

function RunButtons({ isRunning, isReady, onRun, onCancel }: RunButtonsProps) {
  const isDisabled = isRunning || !isReady;
  return (
    <div class="row">
      <Button submit kind="main" disabled={isDisabled}>
        Run
      </Button>
      <Button disabled={isDisabled} onClick={() => onRun('explain')}>
        Explain
      </Button>
      <Button disabled={isDisabled} onClick={() => onRun('advise')}>
        Advise
      </Button>
      {isRunning && <Button onClick={onCancel}>Cancel</Button>}
    </div>
  );
}

interface ShownResultProps {
  readonly shown: Shown;
  readonly onChoose: (statement: string) => void;
}

function ShownResult({ shown, onChoose }: ShownResultProps) {
  if (shown.kind === 'rows') return <Results outcome={shown.outcome} />;
  if (shown.kind === 'advice') return <Advice advice={shown.advice} onChoose={onChoose} />;
  return (
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
  );
}

function shownFor(action: StatementAction, outcome: Outcome): Shown {
  const [row] = outcome.rows;
  if (action === 'run') return { kind: 'rows', outcome };
  if (action === 'advise') return { kind: 'advice', advice: row };
  const { plan } = (row ?? {}) as { plan?: unknown };
  return { kind: 'plan', plan, sentences: planSentences(plan) };
}
