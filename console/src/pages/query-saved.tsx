// Statements that were run before, and those saved under a name: both in this browser only.
import { useState } from 'preact/hooks';
import { Button, Field } from '../kit/controls.tsx';
import { history, savedStatements, saveStatement } from './query-run.ts';

interface StatementsProps {
  readonly statement: string;
  readonly onChoose: (statement: string) => void;
}

export function History({ onChoose }: Pick<StatementsProps, 'onChoose'>) {
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

export function Saved({ statement, onChoose }: StatementsProps) {
  const [name, setName] = useState('');
  const [saved, setSaved] = useState(savedStatements());
  return (
    <details>
      <summary>Saved statements ({Object.keys(saved).length})</summary>
      <form
        class="row fields"
        onSubmit={(event) => {
          event.preventDefault();
          setSaved(saveStatement(name, statement));
        }}
      >
        <Field label="Name for this statement" value={name} onInput={setName} required />
        <div class="row">
          <Button submit disabled={name === '' || statement === ''}>
            Save statement
          </Button>
        </div>
      </form>
      <ul>
        {Object.entries(saved).map(([each, text]) => (
          <li key={each}>
            <button type="button" class="link" title={text} onClick={() => onChoose(text)}>
              {each}
            </button>{' '}
            <Button label={`Forget ${each}`} onClick={() => setSaved(saveStatement(each, null))}>
              Forget
            </Button>
          </li>
        ))}
      </ul>
    </details>
  );
}
