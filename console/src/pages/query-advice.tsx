// Which indexes ADVISE recommends for a statement, and which it uses.
import { Button } from '../kit/controls.tsx';

interface Recommended {
  readonly index_statement: string;
  readonly recommending_rule?: string;
}

interface AdviceProps {
  /** A row of ADVISE. */
  readonly advice: unknown;
  readonly onChoose: (statement: string) => void;
}

export function Advice({ advice, onChoose }: AdviceProps) {
  const found = adviceIn(advice);
  return (
    <section aria-label="Advice">
      <h2>Advice</h2>
      {found.length === 0 && (
        <p class="empty">No index would serve this statement better than those there are.</p>
      )}
      <ul>
        {found.map(({ index_statement: statement, recommending_rule: rule }) => (
          <li key={statement}>
            <pre>{statement}</pre>
            {rule && <p class="quiet">{rule}</p>}
            <Button label={`Use as statement: ${statement}`} onClick={() => onChoose(statement)}>
              Use as statement
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The indexes, each once, from all depths of the answer. */
function adviceIn(value: unknown): Recommended[] {
  const found = new Map<string, Recommended>();
  const visit = (part: unknown, isRecommended: boolean) => {
    if (typeof part !== 'object' || part === null) return;
    if (isRecommended && 'index_statement' in part) {
      const recommended = part as Recommended;
      found.set(recommended.index_statement, recommended);
    }
    for (const [name, member] of Object.entries(part))
      visit(member, name === 'recommended_indexes' || (isRecommended && name !== 'current_indexes'));
  };
  visit(value, false);
  return [...found.values()];
}
