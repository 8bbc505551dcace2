// Sets up a new node: its services, its memory, its administrator; or joins it to a cluster.
import { useState } from 'preact/hooks';
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Checkbox, Field } from '../kit/controls.tsx';
import { Form } from '../kit/form.tsx';
import { useForm } from '../kit/use-form.ts';
import { asApiError } from '../kit/use-resource.ts';
import { signIn } from '../shell/sign-in.tsx';
import { offeredServices, ServicesChoice } from './services-choice.tsx';

const [joinTimeoutMs, pollMs] = [300_000, 500];

export function SetUpForm({ onDone }: { onDone: () => void }) {
  const [joins, setJoins] = useState(false);
  return (
    <>
      <Checkbox label="Join a cluster that exists" checked={joins} onChange={setJoins} />
      {joins ? <JoinForm onDone={onDone} /> : <NewClusterForm onDone={onDone} />}
    </>
  );
}

function NewClusterForm({ onDone }: { onDone: () => void }) {
  const [repeated, setRepeated] = useState('');
  const form = useForm({
    clusterName: '',
    username: 'Administrator',
    password: '',
    memoryQuota: '512',
    services: offeredServices,
  });
  const { services, username, password } = form.values;
  const submit = async () => {
    await call(routes.setUp, { form: { ...form.values, services: services.join(','), port: 'SAME' } });
    await signIn(username, password);
  };
  return (
    <Form
      action={form}
      onSubmit={submit}
      onDone={onDone}
      buttons={
        <Button submit kind="main" disabled={form.isBusy || password !== repeated}>
          Set up
        </Button>
      }
    >
      <Field label="Cluster name" {...form.text('clusterName')} />
      <Field label="Administrator" {...form.text('username')} required autocomplete="username" />
      <Field
        label="Password"
        type="password"
        {...form.text('password')}
        required
        autocomplete="new-password"
        hint="At least 6 characters."
      />
      <Field
        label="Repeat the password"
        type="password"
        value={repeated}
        onInput={setRepeated}
        required
        autocomplete="new-password"
        problem={repeated !== '' && repeated !== password ? 'The passwords differ.' : undefined}
      />
      <Field label="Memory for documents in MiB" type="number" {...form.text('memoryQuota')} required />
      <ServicesChoice chosen={services} onChange={(chosen) => form.set('services', chosen)} />
    </Form>
  );
}

function JoinForm({ onDone }: { onDone: () => void }) {
  const form = useForm({ hostname: '', user: 'Administrator', password: '', services: offeredServices });
  const { services } = form.values;
  const submit = async () => {
    await call(routes.join, { form: { ...form.values, services: services.join(',') } });
    await untilMember();
  };
  return (
    <Form
      action={form}
      onSubmit={submit}
      onDone={onDone}
      buttons={
        <Button submit kind="main" disabled={form.isBusy}>
          Join
        </Button>
      }
    >
      <Field
        label="Address of a node of the cluster"
        {...form.text('hostname')}
        required
        hint="For example https://10.0.0.5:18091"
      />
      <Field label="Administrator of the cluster" {...form.text('user')} required autocomplete="username" />
      <Field
        label="Password"
        type="password"
        {...form.text('password')}
        required
        autocomplete="current-password"
      />
      <ServicesChoice chosen={services} onChange={(chosen) => form.set('services', chosen)} />
      <div aria-live="polite">{form.isBusy && <p class="quiet">The node joins the cluster…</p>}</div>
    </Form>
  );
}

/** Joining restarts the node, which has no cluster, or does not answer, until it is a member. */
async function untilMember(): Promise<void> {
  for (let waitedMs = 0; waitedMs < joinTimeoutMs; waitedMs += pollMs) {
    const status = await call(routes.cluster).then(
      () => 200,
      (error: unknown) => asApiError(error).status,
    );
    if (status !== 404 && status !== 0 && status < 500) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  throw new ApiError(
    0,
    'The node was accepted but does not answer as a member. See its output, and reload this page.',
  );
}
