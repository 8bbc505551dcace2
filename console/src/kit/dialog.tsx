// Dialogs: a form in a window of its own, and the confirmation of what destroys by typing a name.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/client.ts';
import { Button, Field } from './controls.tsx';
import { Problem } from './notices.tsx';
import { asApiError } from './use-resource.ts';

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
}

export function Dialog({ title, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface FormDialogProps extends DialogProps {
  readonly action: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** Closes the dialog when it resolves; `children` show the problems of fields. */
  readonly onSubmit: () => Promise<void>;
  readonly onProblem?: (problem: ApiError | undefined) => void;
}

export function FormDialog(props: FormDialogProps) {
  const { title, children, action, danger, disabled, onClose, onSubmit, onProblem } = props;
  const [problem, setProblem] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    try {
      await onSubmit();
      onClose();
    } catch (error) {
      setProblem(asApiError(error));
      onProblem?.(asApiError(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {children}
        <Problem problem={problem} />
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button submit kind={danger ? 'danger' : 'main'} disabled={isBusy || disabled === true}>
            {isBusy ? 'Working…' : action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly name: string;
  readonly action: string;
  readonly children: ComponentChildren;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Enables its action once the name is typed. */
export function ConfirmByName({ title, name, action, children, onConfirm, onClose }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog
      title={title}
      action={action}
      danger
      disabled={typed !== name}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      <p>{children}</p>
      <p>
        Type <strong class="mono">{name}</strong> to confirm.
      </p>
      <Field label="Name" value={typed} onInput={setTyped} />
    </FormDialog>
  );
}
