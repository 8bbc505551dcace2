// Statements that were run before, and those saved under a name: both in this browser only.
import { useState } from 'preact/hooks';
import { Button, Field } from '../kit/controls.tsx';
import { Problem } from '../kit/notices.tsx';
import { useAction } from '../kit/use-resource.ts';
import { history, savedStatements, saveStatement } from './remembered-statements.ts';

interface StatementsProps {
  readonly statement: string;
  readonly onChoose: (statement: string) => void;
}

export function History({ onChoose }: Pick<StatementsProps, 'onChoose'>) {
  const statements = history();
  if (statements.length === 0) return null;
  return (
    <details>
      <summary>Earlier statements ({statements.length})</summary>
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
  const action = useAction();
  /** `text` null: forgets the statement. */
  const save = (savedName: string, text: string | null) =>
    void action.run(async () => setSaved(saveStatement(savedName, text)));
  return (
    <details>
      <summary>Saved statements ({Object.keys(saved).length})</summary>
      <form
        class="row fields"
        onSubmit={(event) => {
          event.preventDefault();
          save(name, statement);
        }}
      >
        <Field label="Name for this statement" value={name} onInput={setName} required />
        <div class="row">
          <Button submit disabled={name === '' || statement === ''}>
            Save statement
          </Button>
        </div>
      </form>
      <Problem problem={action.problem} />
      <ul>
        {Object.entries(saved).map(([each, text]) => (
          <li key={each}>
            <button type="button" class="link" title={text} onClick={() => onChoose(text)}>
              {each}
            </button>{' '}
            <Button label={`Forget ${each}`} onClick={() => save(each, null)}>
              Forget
            </Button>
          </li>
        ))}
      </ul>
    </details>
  );
}
