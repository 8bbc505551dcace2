// Adds a running node to the cluster: one that is not set up yet, or one whose administrator the form names. A rebalance then moves documents to
// the node.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Field } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { useForm } from '../kit/use-form.ts';
import { ServicesChoice } from './services-choice.tsx';

export function AddNodeDialog({ onClose }: { onClose: () => void }) {
  const form = useForm({
    hostname: '',
    user: 'Administrator',
    password: '',
    services: ['kv'] as readonly string[],
  });
  const { services } = form.values;
  return (
    <FormDialog
      title="Add a node"
      action="Add"
      form={form}
      onClose={onClose}
      onSubmit={() => call(routes.addNode, { form: { ...form.values, services: services.join(',') } })}
    >
      <Field
        label="Address"
        {...form.text('hostname')}
        required
        hint="Name or address, and the port of its REST API: 10.0.0.6:8091"
      />
      <Field label="Administrator of the node" {...form.text('user')} required />
      <Field
        label="Password"
        type="password"
        {...form.text('password')}
        required
        hint="Any password, if the node is not set up yet."
      />
      <ServicesChoice chosen={services} onChange={(chosen) => form.set('services', chosen)} />
    </FormDialog>
  );
}
