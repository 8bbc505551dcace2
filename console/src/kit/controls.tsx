// Controls of forms, each with its label, hint and problem.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly kind?: 'plain' | 'main' | 'danger';
  readonly submit?: boolean;
  readonly disabled?: boolean;
  readonly label?: string;
  /** For a button that opens and closes something. */
  readonly expanded?: boolean;
  /** The button is one of several, of which one is chosen. */
  readonly pressed?: boolean;
  readonly onClick?: () => void;
}

export function Button({
  children,
  kind = 'plain',
  submit,
  disabled,
  label,
  expanded,
  pressed,
  onClick,
}: ButtonProps) {
  return (
    <button
      type={submit ? 'submit' : 'button'}
      class={`button ${kind}`}
      disabled={disabled}
      aria-label={label}
      aria-expanded={expanded}
      aria-pressed={pressed}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

interface EditAndDeleteProps {
  /** The name of what the row shows; screen readers read it with each button. */
  readonly name: string;
  readonly onOpen: (dialog: 'edit' | 'delete') => void;
}

/** The actions of a row. */
export function EditAndDelete({ name, onOpen }: EditAndDeleteProps) {
  return (
    <div class="row">
      <Button label={`Edit ${name}`} onClick={() => onOpen('edit')}>
        Edit
      </Button>
      <Button kind="danger" label={`Delete ${name}`} onClick={() => onOpen('delete')}>
        Delete
      </Button>
    </div>
  );
}

export interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'number' | 'search' | 'datetime-local' | 'time';
  readonly hint?: string;
  readonly problem?: string | undefined;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly readOnly?: boolean;
  readonly autocomplete?: string;
  /** More than one line. */
  readonly rows?: number;
  readonly mono?: boolean;
}

export function Field(props: FieldProps) {
  const {
    label,
    value,
    onInput,
    type = 'text',
    hint,
    problem,
    required,
    disabled,
    readOnly,
    autocomplete,
    rows,
    mono,
  } = props;
  const id = useId();
  const common = {
    id,
    value,
    required,
    disabled,
    readOnly,
    class: mono ? 'mono' : '',
    ...noteAttributes(id, hint, problem),
    autocapitalize: 'none' as const,
    spellcheck: false,
    onInput: (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows ? (
        <textarea {...common} rows={rows} />
      ) : (
        <input {...common} type={type as 'text'} autocomplete={autocomplete ?? 'off'} />
      )}
      <Notes id={id} hint={hint} problem={problem} />
    </div>
  );
}

/** Connects a control with its notes, for screen readers. */
const noteAttributes = (id: string, hint: string | undefined, problem: string | undefined) => ({
  'aria-invalid': problem ? (true as const) : undefined,
  'aria-describedby':
    [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ') || undefined,
});

function Notes({
  id,
  hint,
  problem,
}: {
  id: string;
  hint?: string | undefined;
  problem?: string | undefined;
}) {
  return (
    <>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (string | readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
  readonly hint?: string;
  readonly problem?: string | undefined;
  readonly disabled?: boolean;
}

export function Select({ label, value, options, onChange, hint, problem, disabled }: SelectProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        disabled={disabled}
        {...noteAttributes(id, hint, problem)}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => {
          const [key, text] = typeof option === 'string' ? [option, option] : option;
          return (
            <option key={key} value={key}>
              {text}
            </option>
          );
        })}
      </select>
      <Notes id={id} hint={hint} problem={problem} />
    </div>
  );
}

interface CheckboxProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function Checkbox({ label, checked, onChange }: CheckboxProps) {
  const id = useId();
  return (
    <div class="checkbox">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
    </div>
  );
}

interface FileFieldProps {
  readonly label: string;
  readonly onFile: (file: File | undefined) => void;
}

export function FileField({ label, onFile }: FileFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="file" onChange={(event) => onFile(event.currentTarget.files?.[0])} />
    </div>
  );
}
