// The steps of a change of a cluster, while it runs and after it.
import { useEffect } from 'preact/hooks';
import { time } from '../../kit/format.ts';
import { Loaded, Progress } from '../../kit/notices.tsx';
import { useResource } from '../../kit/use-resource.ts';
import { call } from '../api/client.ts';
import { type Operation, routes } from '../api/routes.ts';

const whileOpenMs = 500;

const titles: Readonly<Record<Operation['kind'], string>> = {
  create: 'Creation of the cluster',
  scale: 'Change of the nodes',
  delete: 'Deletion of the cluster',
};

const stepNames: Readonly<Record<string, string>> = {
  place: 'Find places for nodes',
  start: 'Start nodes',
  join: 'Join nodes',
  balance: 'Balance documents',
  remove: 'Remove nodes',
  quota: 'Adapt memory quotas',
  admit: 'Apply the allowlist',
  roles: 'Give users the roles for the services',
  certificate: 'Read the certificate',
  probe: 'Write and read a document',
  publish: 'Open for clients',
  free: 'Delete its records',
};

const nameOf = (step: string): string => stepNames[step] ?? step;

interface OperationLineProps {
  readonly id: string;
  /** Called once the change is over. */
  readonly onEnd: () => void;
}

export function OperationLine({ id, onEnd }: OperationLineProps) {
  const operation = useResource(
    (signal) => call(routes.operation, { path: { id }, signal }),
    [id],
    ({ state }) => (state === 'open' ? whileOpenMs : 0),
  );
  const state = operation.data?.state;
  useEffect(() => {
    if (state !== undefined && state !== 'open') onEnd();
  }, [state]);
  return <Loaded from={operation}>{(data) => <Line operation={data} />}</Loaded>;
}

function Line({ operation }: { operation: Operation }) {
  const { kind, state, step, steps, progress, attempts, lastError, createdAt, deadline } = operation;
  const stepIndex = state === 'done' ? steps.length : steps.indexOf(step);
  return (
    <section class="card" aria-label={titles[kind]}>
      <p role="status">
        {titles[kind]}: {summary(operation, stepIndex)}
      </p>
      <Progress label={titles[kind]} share={progress / 100} />
      <ol class="steps">
        {steps.map((name, index) => (
          <li
            key={name}
            class={index < stepIndex ? 'done' : index === stepIndex && state === 'failed' ? 'failed' : ''}
            aria-current={index === stepIndex ? 'step' : undefined}
          >
            {nameOf(name)}
          </li>
        ))}
      </ol>
      <p class="quiet">
        Started {time(createdAt)}
        {state === 'open' && `; retried until ${time(deadline)}`}
      </p>
      {lastError !== undefined && state !== 'done' && (
        <p class={`notice ${state === 'failed' ? 'wrong' : 'caution'}`}>
          {attempts > 0 && state === 'open' && `Tried ${attempts} times; the cloud tries again. `}
          {lastError}
        </p>
      )}
    </section>
  );
}

function summary({ state, step, steps }: Operation, stepIndex: number): string {
  if (state === 'done') return 'done';
  if (state === 'failed') return `failed at “${nameOf(step)}”`;
  return `step ${stepIndex + 1} of ${steps.length}, ${nameOf(step)}`;
}
