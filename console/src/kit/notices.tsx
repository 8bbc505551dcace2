// Messages: problems, states, progress.
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/request.ts';
import type { Resource } from './use-resource.ts';

export function Problem({ problem }: { problem: ApiError | undefined }) {
  return <div role="alert">{problem && <p class="notice wrong">{problem.message}</p>}</div>;
}

export function Badge({
  kind,
  children,
}: {
  kind: 'good' | 'caution' | 'wrong' | 'plain';
  children: ComponentChildren;
}) {
  return <span class={`badge ${kind}`}>{children}</span>;
}

export function Progress({ label, share }: { label: string; share: number }) {
  const shown = Math.round(share * 100);
  return (
    <div class="progress">
      <progress aria-label={label} max={100} value={shown} />
      <span>{shown} %</span>
    </div>
  );
}

/** Shows what was loaded, and a problem beside it. */
export function Loaded<T>({
  from,
  children,
}: {
  from: Resource<T>;
  children: (data: T) => ComponentChildren;
}) {
  return (
    <>
      <Problem problem={from.problem} />
      {from.data !== undefined ? children(from.data) : !from.problem && <p class="quiet">Loading…</p>}
    </>
  );
}

interface PageProps {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Page({ title, actions, children }: PageProps) {
  return (
    <>
      <div class="row page-head">
        <h1 tabIndex={-1}>{title}</h1>
        {actions}
      </div>
      {children}
    </>
  );
}
