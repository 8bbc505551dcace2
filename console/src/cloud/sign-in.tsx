// Asks for a token of the cloud. Also shown over a page whose token has expired, so that its forms keep what was typed.

import { ApiError } from '../api/request.ts';
import { Button, Field } from '../kit/controls.tsx';
import { Form } from '../kit/form.tsx';
import { useForm } from '../kit/use-form.ts';
import { call, setToken } from './api/client.ts';
import { type Caller, routes } from './api/routes.ts';

export function SignInForm({ onSignedIn }: { onSignedIn: (caller: Caller) => void }) {
  const form = useForm({ token: '' });
  const submit = async () => {
    const token = form.values.token.trim();
    if (!/^[\x21-\x39\x3b-\x7e]+$/.test(token)) throw malformed();
    setToken(token);
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
      <Field
        label="Token"
        type="password"
        {...form.text('token')}
        autocomplete="current-password"
        hint="The cloud prints a token when it starts; “divan cloud token create” makes others."
        required
      />
    </Form>
  );
}

function malformed(): ApiError {
  const problem = 'A token has no spaces, no colons and only ASCII characters.';
  return new ApiError(0, problem, { token: problem });
}
