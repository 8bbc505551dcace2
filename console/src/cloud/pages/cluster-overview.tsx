// The overview of a cluster: its properties, its health, and the actions on the whole cluster.
import { useState } from 'preact/hooks';
import { Button, Field } from '../../kit/controls.tsx';
import { ConfirmByName, FormDialog } from '../../kit/dialog.tsx';
import { time } from '../../kit/format.ts';
import { Badge, Loaded, Problem } from '../../kit/notices.tsx';
import { Table } from '../../kit/table.tsx';
import { useForm } from '../../kit/use-form.ts';
import { useAction, useResource } from '../../kit/use-resource.ts';
import { go } from '../../shell/router.ts';
import { call, change } from '../api/client.ts';
import { type Cluster, type Health, routes } from '../api/routes.ts';
import { isChanging, wordsOf } from '../status.tsx';
import type { PartProps } from './cluster-part.ts';
import { groupsOf, type Provider, serversOf } from './cluster-servers.ts';
import { ServerGroups } from './server-groups.tsx';

const healthEveryMs = 10_000;

export function ClusterOverview({ cluster, reload }: PartProps) {
  const [open, setOpen] = useState<'edit' | 'scale' | 'delete'>();
  const download = useAction();
  const close = () => {
    setOpen(undefined);
    reload();
  };
  const follow = ({ operation }: { operation: string | null }) => {
    if (operation !== null) go(['cluster', cluster.id], { operation });
  };
  return (
    <>
      <div class="row">
        <Button onClick={() => setOpen('edit')}>Edit</Button>
        <Button onClick={() => setOpen('scale')}>Change nodes</Button>
        <Button
          disabled={download.isBusy}
          onClick={() => void download.run(() => downloadCertificate(cluster))}
        >
          Download certificate
        </Button>
        <Button kind="danger" onClick={() => setOpen('delete')}>
          Delete cluster
        </Button>
      </div>
      <Problem problem={download.problem} />
      <Facts cluster={cluster} />
      <h2>Nodes</h2>
      <Table
        caption="Nodes"
        columns={[
          { label: 'Number', value: ({ size }) => size },
          { label: 'Instance', value: ({ compute }) => compute || 'default' },
          { label: 'Services', value: ({ services }) => services.join(', ') },
        ]}
        rows={cluster.servers}
        rowKey={(group) => String(cluster.servers.indexOf(group))}
        empty="The cluster has no nodes."
      />
      {!isChanging(cluster.status) && <HealthOf cluster={cluster} />}
      {open === 'edit' && <EditDialog cluster={cluster} onClose={close} />}
      {open === 'scale' && <ScaleDialog cluster={cluster} onScaled={follow} onClose={close} />}
      {open === 'delete' && (
        <ConfirmByName
          title="Delete the cluster"
          name={cluster.name}
          action="Delete cluster"
          onConfirm={async () => follow(await change(routes.deleteCluster, { path: { id: cluster.id } }))}
          onClose={close}
        >
          This deletes the cluster with all its buckets and documents. It cannot be undone.
        </ConfirmByName>
      )}
    </>
  );
}

function Facts({ cluster }: { cluster: Cluster }) {
  const { description, place, endpointsURL, createdAt, version, environment } = cluster;
  const facts: readonly (readonly [string, string])[] = [
    ['Description', description],
    ['Environment', environment === 'vpc' ? 'a cloud of the organization' : environment],
    ['Place', `${place.provider}, ${place.region}, ${place.CIDR}`],
    ['Addresses', endpointsURL.join(', ') || 'none yet'],
    ['Created', time(createdAt)],
    ['Version', version.name],
  ];
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

function HealthOf({ cluster }: { cluster: Cluster }) {
  const health = useResource(
    (signal) => call(routes.health, { path: { id: cluster.id }, signal }),
    [cluster.id],
    healthEveryMs,
  );
  return (
    <>
      <h2>Health</h2>
      <Loaded from={health}>{(data) => <HealthFigures health={data} />}</Loaded>
    </>
  );
}

function HealthFigures({ health: { health, reason, bucketStats, nodeStats } }: { health: Health }) {
  return (
    <>
      <p>
        <Badge kind={kindOf(health)}>{wordsOf(health)}</Badge> {reason}
      </p>
      {nodeStats && (
        <Table
          caption="Health of the nodes"
          columns={[
            { label: 'Node', value: ({ nodeName }) => nodeName },
            { label: 'Services', value: ({ services }) => services.join(', ') },
            { label: 'State', value: ({ status }) => <Badge kind={kindOf(status)}>{wordsOf(status)}</Badge> },
          ]}
          rows={nodeStats.serviceStats}
          rowKey={({ nodeName }) => nodeName}
          empty="No node reports its health."
        />
      )}
      {bucketStats && (
        <Table
          caption="Health of the buckets"
          columns={[
            { label: 'Bucket', value: ([name]) => name },
            { label: 'State', value: ([, state]) => <Badge kind={kindOf(state)}>{wordsOf(state)}</Badge> },
          ]}
          rows={Object.entries(bucketStats.healthStats)}
          rowKey={([name]) => name}
          empty="The cluster has no buckets."
        />
      )}
    </>
  );
}

const kindOf = (state: string) => (state === 'healthy' ? 'good' : state === 'N/A' ? 'plain' : 'caution');

function EditDialog({ cluster, onClose }: { cluster: Cluster; onClose: () => void }) {
  const form = useForm({ name: cluster.name, description: cluster.description });
  return (
    <FormDialog
      title="Edit the cluster"
      action="Save"
      form={form}
      onSubmit={() => call(routes.renameCluster, { path: { id: cluster.id }, body: form.values })}
      onClose={onClose}
    >
      <Field label="Cluster name" {...form.text('name')} required />
      <Field label="Description" {...form.text('description')} />
    </FormDialog>
  );
}

interface ScaleDialogProps {
  readonly cluster: Cluster;
  readonly onScaled: (accepted: { operation: string | null }) => void;
  readonly onClose: () => void;
}

function ScaleDialog({ cluster, onScaled, onClose }: ScaleDialogProps) {
  const form = useForm({ groups: groupsOf(cluster) });
  const submit = async () =>
    onScaled(
      await change(routes.scaleCluster, {
        path: { id: cluster.id },
        body: { servers: serversOf(form.values.groups) },
      }),
    );
  return (
    <FormDialog title="Change the nodes" action="Change" form={form} onSubmit={submit} onClose={onClose}>
      <p>
        New nodes join before others leave, and documents move while clients continue. At least one node keeps
        its instance and its services. Without a change the documents are balanced again.
      </p>
      <ServerGroups
        provider={cluster.place.provider as Provider}
        groups={form.values.groups}
        onChange={(groups) => form.set('groups', [...groups])}
        problemOf={form.problemOf}
      />
    </FormDialog>
  );
}

/** Saves the certificate authority of the cluster as a file, by which clients trust its nodes. */
async function downloadCertificate({ id, name }: Cluster): Promise<void> {
  const { certificate } = await call(routes.certificate, { path: { id } });
  const address = URL.createObjectURL(new Blob([certificate], { type: 'application/x-pem-file' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = `${name.replace(/[^\w.-]+/g, '-')}.pem`;
  link.click();
  URL.revokeObjectURL(address);
}
