// Asks for name and password. Also shown over a page whose session has ended, so that its forms keep what was typed.
import { useState } from 'preact/hooks';
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Field } from '../kit/controls.tsx';
import { Problem } from '../kit/notices.tsx';
import { asApiError } from '../kit/use-resource.ts';

export function SignInForm({ onSignedIn }: { onSignedIn: () => void }) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      await signIn(name, password);
      onSignedIn();
    } catch (error) {
      const { status, message } = asApiError(error);
      setProblem(new ApiError(status, status === 401 ? 'The name or the password is wrong.' : message));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field label="Name" value={name} onInput={setName} autocomplete="username" required />
      <Field
        label="Password"
        type="password"
        value={password}
        onInput={setPassword}
        autocomplete="current-password"
      />
      <Problem problem={problem} />
      <Button submit kind="main" disabled={isBusy}>
        Sign in
      </Button>
    </form>
  );
}

export async function signIn(name: string, password: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  const authorization = `Basic ${btoa(String.fromCharCode(...bytes))}`;
  await call(routes.signIn, { headers: { authorization } });
}
