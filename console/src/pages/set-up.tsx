// Sets up a new node: its services, its memory, its administrator; or joins it to a cluster.
import { useState } from 'preact/hooks';
import { type ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Checkbox, Field } from '../kit/controls.tsx';
import { serviceName } from '../kit/format.ts';
import { Problem } from '../kit/notices.tsx';
import { asApiError } from '../kit/use-resource.ts';
import { signIn } from '../shell/sign-in.tsx';

const offered = ['kv', 'n1ql', 'index'];

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
  const [clusterName, setClusterName] = useState('');
  const [username, setUsername] = useState('Administrator');
  const [password, setPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const [memoryQuota, setMemory] = useState('512');
  const [services, setServices] = useState<readonly string[]>(offered);
  const { problem, isBusy, run } = useSubmit();
  const differs = repeated !== '' && repeated !== password ? 'This is another password.' : undefined;
  const problemOf = (field: string) => problem?.fields[field];
  const submit = () =>
    run(async () => {
      await call(routes.setUp, {
        form: { clusterName, username, password, memoryQuota, services: services.join(','), port: 'SAME' },
      });
      await signIn(username, password);
      onDone();
    });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field
        label="Cluster name"
        value={clusterName}
        onInput={setClusterName}
        problem={problemOf('clusterName')}
      />
      <Field
        label="Administrator"
        value={username}
        onInput={setUsername}
        required
        autocomplete="username"
        problem={problemOf('username')}
      />
      <Field
        label="Password"
        type="password"
        value={password}
        onInput={setPassword}
        required
        autocomplete="new-password"
        hint="At least 6 characters."
        problem={problemOf('password')}
      />
      <Field
        label="Repeat the password"
        type="password"
        value={repeated}
        onInput={setRepeated}
        required
        autocomplete="new-password"
        problem={differs}
      />
      <Field
        label="Memory for documents in MiB"
        type="number"
        value={memoryQuota}
        onInput={setMemory}
        required
        problem={problemOf('memoryQuota')}
      />
      <Services chosen={services} onChange={setServices} />
      <Problem problem={problem} />
      <Button submit kind="main" disabled={isBusy || password !== repeated}>
        Set up
      </Button>
    </form>
  );
}

function Services({
  chosen,
  onChange,
}: {
  chosen: readonly string[];
  onChange: (services: readonly string[]) => void;
}) {
  return (
    <fieldset>
      <legend>Services</legend>
      {offered.map((service) => (
        <Checkbox
          key={service}
          label={serviceName(service)}
          checked={chosen.includes(service)}
          onChange={(isChosen) =>
            onChange(offered.filter((each) => (each === service ? isChosen : chosen.includes(each))))
          }
        />
      ))}
    </fieldset>
  );
}

function JoinForm({ onDone }: { onDone: () => void }) {
  const [address, setAddress] = useState('');
  const [user, setUser] = useState('Administrator');
  const [password, setPassword] = useState('');
  const [services, setServices] = useState<readonly string[]>(offered);
  const { problem, isBusy, run } = useSubmit();
  const submit = () =>
    run(async () => {
      await call(routes.join, { form: { hostname: address, user, password, services: services.join(',') } });
      onDone();
    });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field
        label="Address of a node of the cluster"
        value={address}
        onInput={setAddress}
        required
        hint="For example https://10.0.0.5:18091"
      />
      <Field
        label="Administrator of the cluster"
        value={user}
        onInput={setUser}
        required
        autocomplete="username"
      />
      <Field
        label="Password"
        type="password"
        value={password}
        onInput={setPassword}
        required
        autocomplete="current-password"
      />
      <Services chosen={services} onChange={setServices} />
      <Problem problem={problem} />
      <Button submit kind="main" disabled={isBusy}>
        Join
      </Button>
    </form>
  );
}

function useSubmit() {
  const [problem, setProblem] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const run = async (act: () => Promise<void>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await act();
    } catch (error) {
      setProblem(asApiError(error));
    } finally {
      setBusy(false);
    }
  };
  return { problem, isBusy, run };
}
