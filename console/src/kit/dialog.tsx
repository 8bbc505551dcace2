// Dialogs: a form in a window of its own, and the confirmation of a destructive action by typing a name.
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, Field } from './controls.tsx';
import { Form } from './form.tsx';
import { type Action, useAction } from './use-resource.ts';

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
}

export function Dialog({ title, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect runs before the next frame: there is no moment at which no element has the focus.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const element = dialog.current as HTMLDialogElement;
    element.showModal();
    return () => {
      // Elements behind an open dialog cannot take the focus: the dialog closes first.
      element.close();
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
  /** The state of the form whose fields are `children`; without one the dialog has its own. */
  readonly form?: Action;
  readonly action: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** Closes the dialog when it resolves; `children` show the problems of fields. */
  readonly onSubmit: () => Promise<unknown>;
}

export function FormDialog(props: FormDialogProps) {
  const { title, children, form, action, danger, disabled, onClose, onSubmit } = props;
  const own = useAction();
  const state = form ?? own;
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        action={state}
        onSubmit={onSubmit}
        onDone={onClose}
        buttons={
          <div class="row end">
            <Button onClick={onClose}>Cancel</Button>
            <Button submit kind={danger ? 'danger' : 'main'} disabled={state.isBusy || disabled === true}>
              {state.isBusy ? 'Working…' : action}
            </Button>
          </div>
        }
      >
        {children}
      </Form>
    </Dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly name: string;
  readonly action: string;
  readonly children: ComponentChildren;
  readonly onConfirm: () => Promise<unknown>;
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
      disabled={typed !== typeable(name)}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      <p>{children}</p>
      <p>
        Type <strong class="mono exact">{name}</strong> to confirm.
      </p>
      <Field label="Name" value={typed} onInput={setTyped} />
    </FormDialog>
  );
}

/** A field of one line drops line breaks, which some names may contain. */
const typeable = (name: string): string => name.replace(/[\r\n]/g, '');
