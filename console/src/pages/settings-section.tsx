// A section of the settings page: loads its settings, and saves what the form of its fields contains.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type CallOptions, call } from '../api/client.ts';
import type { Call } from '../api/routes.ts';
import { Button } from '../kit/controls.tsx';
import { Form } from '../kit/form.tsx';
import { Loaded } from '../kit/notices.tsx';
import { type FormState, useForm } from '../kit/use-form.ts';
import { useResource } from '../kit/use-resource.ts';

type RequestBody = Pick<CallOptions, 'form' | 'json'>;

interface SectionProps<T, V extends object> {
  readonly title: string;
  readonly read: Call;
  readonly write: Call;
  /** The values of the form. */
  readonly from: (settings: T) => V;
  /** The body of the request; absent: the values are sent as a form. */
  readonly to?: (values: V) => RequestBody;
  readonly children: (form: FormState<V>) => ComponentChildren;
}

export function SettingsSection<T, V extends object>(props: SectionProps<T, V>) {
  const { title, read, from } = props;
  const loaded = useResource((signal) => call<T>(read, { signal }));
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <Loaded from={loaded}>
        {(settings) => <SettingsForm {...props} initial={from(settings)} onSaved={loaded.reload} />}
      </Loaded>
    </section>
  );
}

interface SettingsFormProps<V extends object> {
  readonly initial: V;
  readonly write: Call;
  readonly to?: (values: V) => RequestBody;
  readonly children: (form: FormState<V>) => ComponentChildren;
  readonly onSaved: () => void;
}

function SettingsForm<V extends object>({ initial, write, to, children, onSaved }: SettingsFormProps<V>) {
  const form = useForm(initial);
  const [isSaved, setSaved] = useState(false);
  const body = to ? to(form.values) : { form: form.values as NonNullable<RequestBody['form']> };
  return (
    <Form
      action={form}
      onInput={() => setSaved(false)}
      onSubmit={() => call(write, body)}
      onDone={() => {
        setSaved(true);
        onSaved();
      }}
      buttons={
        <div class="row">
          <Button submit disabled={form.isBusy}>
            Save
          </Button>
          <span role="status">{isSaved && 'Saved.'}</span>
        </div>
      }
    >
      {children(form)}
    </Form>
  );
}
