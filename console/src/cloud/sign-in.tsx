// Asks for a token of the cloud, or for its pair of keys. Also shown over a page whose token has expired, so that its forms keep what
// was typed.
import { ApiError } from '../api/request.ts';
import { Button, Field, Select } from '../kit/controls.tsx';
import { Form } from '../kit/form.tsx';
import { type FormState, useForm } from '../kit/use-form.ts';
import { call, setCredentials } from './api/client.ts';
import { type Credentials, keyPair } from './api/credentials.ts';
import { type Caller, routes } from './api/routes.ts';

interface Values {
  kind: 'token' | 'keys';
  token: string;
  accessKey: string;
  secretKey: string;
}

export function SignInForm({ onSignedIn }: { onSignedIn: (caller: Caller) => void }) {
  const form = useForm<Values>({ kind: 'token', token: '', accessKey: '', secretKey: '' });
  const submit = async () => {
    setCredentials(await credentialsIn(form.values));
    onSignedIn(await call(routes.caller, {}));
  };
  return (
    <Form
      action={form}
      onSubmit={submit}
      buttons={
        <Button submit kind="main" disabled={form.isBusy}>
          Sign in
        </Button>
      }
    >
      <Select
        label="With"
        {...form.choice('kind')}
        options={[
          ['token', 'A token'],
          ['keys', 'A pair of keys'],
        ]}
      />
      {form.values.kind === 'token' ? <TokenField form={form} /> : <KeyFields form={form} />}
    </Form>
  );
}

function TokenField({ form }: { form: FormState<Values> }) {
  return (
    <Field
      label="Token"
      type="password"
      {...form.text('token')}
      autocomplete="current-password"
      hint="The cloud prints a token when it starts; “divan cloud token create” makes others."
      required
    />
  );
}

function KeyFields({ form }: { form: FormState<Values> }) {
  return (
    <>
      <Field label="Access key" {...form.text('accessKey')} autocomplete="username" required />
      <Field
        label="Secret key"
        type="password"
        {...form.text('secretKey')}
        autocomplete="current-password"
        hint="It signs the requests in the browser, and is not sent."
        required
      />
    </>
  );
}

async function credentialsIn({ kind, ...typed }: Values): Promise<Credentials> {
  if (kind === 'token') return sendable('token', typed.token);
  return await keyPair(sendable('accessKey', typed.accessKey), typed.secretKey.trim());
}

/** A header cannot contain everything that can be typed, and a colon would separate a signature. */
function sendable(field: 'token' | 'accessKey', typed: string): string {
  const text = typed.trim();
  if (/^[\x21-\x39\x3b-\x7e]+$/.test(text)) return text;
  const problem = 'This must be ASCII without spaces and colons.';
  throw new ApiError(0, problem, { [field]: problem });
}
