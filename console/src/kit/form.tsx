// A form that sends a change, and shows why it was refused.
import type { ComponentChildren } from 'preact';
import { Problem } from './notices.tsx';
import type { Action } from './use-resource.ts';

interface FormProps {
  readonly action: Action;
  readonly children: ComponentChildren;
  /** The buttons, at least one that submits. */
  readonly buttons: ComponentChildren;
  readonly onSubmit: () => Promise<unknown>;
  /** Called once `onSubmit` has resolved. */
  readonly onDone?: (() => void) | undefined;
  readonly onInput?: () => void;
}

export function Form({ action, children, buttons, onSubmit, onDone, onInput }: FormProps) {
  const submit = async () => {
    if (await action.run(onSubmit)) onDone?.();
  };
  return (
    <form
      onInput={onInput}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {children}
      <Problem problem={action.problem} />
      {buttons}
    </form>
  );
}
