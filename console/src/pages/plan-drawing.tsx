// Draws a plan: each operator below its input, the sides of a join or a union beside each other.

type Node = Readonly<Record<string, unknown>>;

/** An operator with the branches that it takes rows from. */
interface Step {
  readonly name: string;
  readonly detail: string;
  readonly branches: readonly (readonly Step[])[];
}

export function PlanDrawing({ plan }: { plan: unknown }) {
  return <Steps steps={stepsOf(plan)} />;
}

function Steps({ steps }: { steps: readonly Step[] }) {
  return (
    <ol class="plan">
      {steps.map(({ name, detail, branches }, index) => (
        <li key={index}>
          {branches.length > 0 && (
            <div class="branches">
              {branches.map((branch, at) => (
                <Steps key={at} steps={branch} />
              ))}
            </div>
          )}
          <div class="step">
            <strong>{name}</strong>
            {detail && <span class="mono">{detail}</span>}
          </div>
        </li>
      ))}
    </ol>
  );
}

/** Operators that only group others. */
const groupingOperators: ReadonlySet<string> = new Set(['Sequence', 'Parallel', 'Authorize', 'Stream']);
/** The members of an operator with the operators that run before it, drawn above it in one line. */
const inLine = ['~children', '~child', 'plan'];
/** The members with the operators that are drawn as branches beside each other. */
const beside = ['scan', 'scans', 'first', 'second', '~subqueries'];

function stepsOf(value: unknown): Step[] {
  if (Array.isArray(value)) return value.flatMap(stepsOf);
  if (!isNode(value)) return [];
  const name = String(value['#operator'] ?? '');
  const inner = inLine.flatMap((member) => stepsOf(value[member]));
  if (name === '' || groupingOperators.has(name)) return inner;
  const branches = beside.flatMap((member) => {
    const found = value[member];
    return (Array.isArray(found) ? found : [found]).map(stepsOf).filter((steps) => steps.length > 0);
  });
  // The children of a join are its right side; those of a union its parts.
  const children = value['~children'];
  if (Array.isArray(children) && name.endsWith('All'))
    return [{ name, detail: detailOf(value), branches: children.map(stepsOf) }];
  const sides = inner.length > 0 ? [inner, ...branches] : branches;
  return [{ name, detail: detailOf(value), branches: sides }];
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const detailMembers = ['index', 'keyspace', 'condition', 'on_clause', 'expr', 'as', 'limit', 'offset'];
const detailChars = 160;

function detailOf(node: Node): string {
  const parts = detailMembers
    .filter((name) => typeof node[name] === 'string')
    .map((name) => (name === 'as' ? `as ${node[name]}` : String(node[name])));
  const text = parts.join(' · ');
  return text.length > detailChars ? `${text.slice(0, detailChars)}…` : text;
}
