// Asks for name and password. Also shown over a page whose session has ended, so that its forms keep what was typed.
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Field } from '../kit/controls.tsx';
import { Form } from '../kit/form.tsx';
import { useForm } from '../kit/use-form.ts';
import { asApiError } from '../kit/use-resource.ts';

export function SignInForm({ onSignedIn }: { onSignedIn: () => void }) {
  const form = useForm({ name: '', password: '' });
  const submit = async () => {
    try {
      await signIn(form.values.name, form.values.password);
    } catch (error) {
      const { status, message } = asApiError(error);
      throw new ApiError(status, status === 401 ? 'The name or the password is wrong.' : message);
    }
  };
  return (
    <Form
      action={form}
      onSubmit={submit}
      onDone={onSignedIn}
      buttons={
        <Button submit kind="main" disabled={form.isBusy}>
          Sign in
        </Button>
      }
    >
      <Field label="Name" {...form.text('name')} autocomplete="username" required />
      <Field label="Password" type="password" {...form.text('password')} autocomplete="current-password" />
    </Form>
  );
}

export async function signIn(name: string, password: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  const authorization = `Basic ${btoa(String.fromCharCode(...bytes))}`;
  await call(routes.signIn, { headers: { authorization } });
}
