// Adds a node that runs and is not set up, or one whose administrator is named. A rebalance then moves documents to it.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Checkbox, Field } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { serviceName } from '../kit/format.ts';

const offered = ['kv', 'n1ql', 'index'];

export function AddNodeDialog({ onClose }: { onClose: () => void }) {
  const [hostname, setHostname] = useState('');
  const [user, setUser] = useState('Administrator');
  const [password, setPassword] = useState('');
  const [services, setServices] = useState<readonly string[]>(['kv']);
  return (
    <FormDialog
      title="Add a node"
      action="Add"
      onClose={onClose}
      onSubmit={async () => {
        await call(routes.addNode, { form: { hostname, user, password, services: services.join(',') } });
      }}
    >
      <Field
        label="Address"
        value={hostname}
        onInput={setHostname}
        required
        hint="Name or address, and the port of its REST API: 10.0.0.6:8091"
      />
      <Field label="Its administrator" value={user} onInput={setUser} required />
      <Field
        label="Password"
        type="password"
        value={password}
        onInput={setPassword}
        required
        autocomplete="off"
        hint="Any, if the node is not set up yet."
      />
      <fieldset>
        <legend>Services</legend>
        {offered.map((service) => (
          <Checkbox
            key={service}
            label={serviceName(service)}
            checked={services.includes(service)}
            onChange={(isChosen) =>
              setServices(offered.filter((each) => (each === service ? isChosen : services.includes(each))))
            }
          />
        ))}
      </fieldset>
    </FormDialog>
  );
}
