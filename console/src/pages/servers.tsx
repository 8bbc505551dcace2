// Nodes of the cluster: add, remove, fail over, recover, and the rebalance that follows.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Cluster, NodeInfo, Task } from '../api/types.ts';
import { Button } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { serviceName } from '../kit/format.ts';
import { Badge, Loaded, Page, Problem, Progress } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useAction, useResource } from '../kit/use-resource.ts';
import { useTasks } from '../kit/use-tasks.ts';
import { AddNodeDialog } from './add-node-dialog.tsx';

type OpenDialog =
  | { readonly dialog: 'add' }
  | { readonly dialog: 'remove' | 'failover'; readonly node: NodeInfo };

export function Content() {
  const cluster = useResource((signal) => call<Cluster>(routes.cluster, { signal }), [], 3_000);
  const tasks = useTasks();
  const [open, setOpen] = useState<OpenDialog>();
  const action = useAction();
  const rebalance = tasks.data?.find(({ type, status }) => type === 'rebalance' && status === 'running');
  const runAndReload = (work: () => Promise<unknown>) =>
    void action.run(async () => {
      await work();
      cluster.reload();
      tasks.reload();
    });
  const nodes = cluster.data?.nodes ?? [];
  const startRebalance = (ejected: readonly string[]) =>
    call(routes.rebalance, {
      form: { knownNodes: nodes.map(({ otpNode }) => otpNode).join(','), ejectedNodes: ejected.join(',') },
    });
  const close = () => {
    setOpen(undefined);
    cluster.reload();
    tasks.reload();
  };
  const columns = [
    ...nodeColumns,
    actionColumn({
      isBusy: rebalance !== undefined,
      isAlone: nodes.length === 1,
      onOpen: (dialog, node) => setOpen({ dialog, node }),
      onRecover: (node, recoveryType) =>
        runAndReload(() => call(routes.recover, { form: { otpNode: node.otpNode, recoveryType } })),
    }),
  ];
  return (
    <Page
      title="Servers"
      actions={
        <div class="row">
          <Button
            disabled={rebalance !== undefined || nodes.length === 0}
            onClick={() => runAndReload(() => startRebalance([]))}
          >
            Rebalance
          </Button>
          <Button kind="main" onClick={() => setOpen({ dialog: 'add' })}>
            Add a node
          </Button>
        </div>
      }
    >
      <Problem problem={action.problem ?? tasks.problem} />
      <RebalanceState
        cluster={cluster.data}
        task={rebalance}
        last={tasks.data?.find(({ type }) => type === 'rebalance')}
        onStop={() => runAndReload(() => call(routes.stopRebalance))}
      />
      <Loaded from={cluster}>
        {() => (
          <Table
            caption="Nodes"
            columns={columns}
            rows={nodes}
            rowKey={({ otpNode }) => otpNode}
            empty="There are no nodes."
          />
        )}
      </Loaded>
      {open && (
        <NodeDialog open={open} onRemove={({ otpNode }) => startRebalance([otpNode])} onClose={close} />
      )}
    </Page>
  );
}

interface NodeDialogProps {
  readonly open: OpenDialog;
  readonly onRemove: (node: NodeInfo) => Promise<unknown>;
  readonly onClose: () => void;
}

function NodeDialog({ open, onRemove, onClose }: NodeDialogProps) {
  if (open.dialog === 'add') return <AddNodeDialog onClose={onClose} />;
  const { node } = open;
  if (open.dialog === 'failover') return <FailOverDialog node={node} onClose={onClose} />;
  return (
    <ConfirmByName
      title="Remove the node"
      name={node.hostname}
      action="Move its documents and remove it"
      onConfirm={async () => void (await onRemove(node))}
      onClose={onClose}
    >
      A rebalance moves the documents of this node to the others, and then the node leaves the cluster.
    </ConfirmByName>
  );
}

interface RebalanceStateProps {
  readonly cluster: Cluster | undefined;
  readonly task: Task | undefined;
  readonly last: Task | undefined;
  readonly onStop: () => void;
}

function RebalanceState({ cluster, task, last, onStop }: RebalanceStateProps) {
  if (task)
    return (
      <div class="row" role="status">
        <span>Rebalance:</span>
        <Progress label="Rebalance" share={(task.progress ?? 0) / 100} />
        <Button onClick={onStop}>Stop</Button>
      </div>
    );
  return (
    <>
      {last?.errorMessage && <p class="notice wrong">{last.errorMessage}</p>}
      {cluster && !cluster.balanced && (
        <p class="notice caution">
          The documents are not spread over all nodes as they should be: rebalance.
        </p>
      )}
    </>
  );
}

function FailOverDialog({ node, onClose }: { node: NodeInfo; onClose: () => void }) {
  const isReachable = node.status === 'healthy';
  const route = isReachable ? routes.failOverGracefully : routes.failOver;
  return (
    <ConfirmByName
      title="Fail the node over"
      name={node.hostname}
      action="Fail over"
      onConfirm={async () => void (await call(route, { form: { otpNode: node.otpNode } }))}
      onClose={onClose}
    >
      {isReachable
        ? 'The copies of its documents on other nodes take over without a failed write.'
        : 'The node does not answer: copies on other nodes take over. Changes that they lack are lost.'}
    </ConfirmByName>
  );
}

const nodeColumns: readonly Column<NodeInfo>[] = [
  { label: 'Name', value: ({ hostname, thisNode }) => (thisNode ? `${hostname} (this one)` : hostname) },
  {
    label: 'State',
    value: ({ status }) => <Badge kind={status === 'healthy' ? 'good' : 'wrong'}>{status}</Badge>,
  },
  { label: 'Member', value: ({ clusterMembership }) => membership[clusterMembership] ?? clusterMembership },
  { label: 'Services', value: ({ services }) => services.map(serviceName).join(', ') },
  { label: 'Group', value: ({ serverGroup }) => serverGroup },
];

const membership: Readonly<Record<string, string>> = {
  active: 'active',
  inactiveAdded: 'added: rebalance to use it',
  inactiveFailed: 'failed over',
};

interface ActionOptions {
  readonly isBusy: boolean;
  readonly isAlone: boolean;
  readonly onOpen: (dialog: 'remove' | 'failover', node: NodeInfo) => void;
  readonly onRecover: (node: NodeInfo, type: 'full' | 'delta') => void;
}

function actionColumn({ isBusy, isAlone, onOpen, onRecover }: ActionOptions): Column<NodeInfo> {
  return {
    label: 'Actions',
    value: (node) => {
      if (isAlone) return <span class="quiet">the only node</span>;
      if (node.clusterMembership === 'inactiveFailed')
        return (
          <div class="row">
            <Button disabled={isBusy} onClick={() => onRecover(node, 'delta')}>
              Delta recovery
            </Button>
            <Button disabled={isBusy} onClick={() => onRecover(node, 'full')}>
              Full recovery
            </Button>
          </div>
        );
      return (
        <div class="row">
          <Button
            disabled={isBusy}
            label={`Fail over ${node.hostname}`}
            onClick={() => onOpen('failover', node)}
          >
            Fail over
          </Button>
          <Button
            kind="danger"
            disabled={isBusy}
            label={`Remove ${node.hostname}`}
            onClick={() => onOpen('remove', node)}
          >
            Remove
          </Button>
        </div>
      );
    },
  };
}
