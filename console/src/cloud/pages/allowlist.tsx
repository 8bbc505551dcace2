// The addresses from which a cluster accepts connections.
import { useState } from 'preact/hooks';
import { Button, Field, Select } from '../../kit/controls.tsx';
import { ConfirmByName, FormDialog } from '../../kit/dialog.tsx';
import { time } from '../../kit/format.ts';
import { Badge, Loaded, Problem } from '../../kit/notices.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { useForm } from '../../kit/use-form.ts';
import { useAction, useResource } from '../../kit/use-resource.ts';
import { call } from '../api/client.ts';
import { type AllowlistEntry, routes } from '../api/routes.ts';
import type { PartProps } from './cluster-part.ts';

type OpenDialog =
  | { readonly dialog: 'add'; readonly address: string }
  | { readonly dialog: 'remove'; readonly entry: AllowlistEntry };

const [whilePendingMs, whileIdleMs] = [1_000, 10_000];
const badgeKinds = { active: 'good', pending: 'caution', failed: 'wrong', expired: 'plain' } as const;

export function Allowlist({ cluster: { id } }: PartProps) {
  const entries = useResource(
    (signal) => call(routes.allowlist, { path: { id }, signal }),
    [id],
    (list) => (list.some(({ state }) => state === 'pending') ? whilePendingMs : whileIdleMs),
  );
  const [open, setOpen] = useState<OpenDialog>();
  const ownAddress = useAction();
  const close = () => {
    setOpen(undefined);
    entries.reload();
  };
  const addOwn = () =>
    void ownAddress.run(async () => {
      const { address } = await call(routes.caller, {});
      setOpen({ dialog: 'add', address });
    });
  const columns: readonly Column<AllowlistEntry>[] = [
    { label: 'Address', value: ({ cidrBlock }) => <span class="mono">{cidrBlock}</span> },
    { label: 'State', value: ({ state }) => <Badge kind={badgeKinds[state]}>{state}</Badge> },
    { label: 'Until', value: ({ expiresAt }) => (expiresAt ? time(expiresAt) : 'permanent') },
    { label: 'Comment', value: ({ comment }) => comment },
    {
      label: 'Actions',
      value: (entry) => (
        <Button
          kind="danger"
          label={`Remove ${entry.cidrBlock}`}
          onClick={() => setOpen({ dialog: 'remove', entry })}
        >
          Remove
        </Button>
      ),
    },
  ];
  return (
    <>
      <div class="row">
        <Button kind="main" onClick={addOwn} disabled={ownAddress.isBusy}>
          Add my address
        </Button>
        <Button onClick={() => setOpen({ dialog: 'add', address: '' })}>Add an address</Button>
      </div>
      <Problem problem={ownAddress.problem} />
      <Loaded from={entries}>
        {(list) => (
          <Table
            caption="Allowlist"
            columns={columns}
            rows={list}
            rowKey={({ cidrBlock }) => cidrBlock}
            empty="The list is empty: the cluster accepts no connections. Add the addresses of its clients."
          />
        )}
      </Loaded>
      {open?.dialog === 'add' && <AddDialog cluster={id} address={open.address} onClose={close} />}
      {open?.dialog === 'remove' && (
        <ConfirmByName
          title="Remove the address"
          name={open.entry.cidrBlock}
          action="Remove"
          onConfirm={() => call(routes.disallow, { path: { id }, body: { cidrBlock: open.entry.cidrBlock } })}
          onClose={close}
        >
          Connections from there end.
        </ConfirmByName>
      )}
    </>
  );
}

interface AddDialogProps {
  readonly cluster: string;
  readonly address: string;
  readonly onClose: () => void;
}

function AddDialog({ cluster, address, onClose }: AddDialogProps) {
  const form = useForm({
    cidrBlock: address,
    ruleType: 'permanent' as 'permanent' | 'temporary',
    duration: '1h0m0s',
    comment: '',
  });
  const { cidrBlock, ruleType, duration, comment } = form.values;
  const submit = () =>
    call(routes.allow, {
      path: { id: cluster },
      body: {
        cidrBlock,
        ruleType,
        ...(ruleType === 'temporary' && { duration }),
        ...(comment !== '' && { comment }),
      },
    });
  return (
    <FormDialog title="Add an address" action="Add" form={form} onSubmit={submit} onClose={onClose}>
      <Field
        label="Address or network"
        {...form.text('cidrBlock')}
        mono
        required
        hint={
          address === ''
            ? 'Such as 203.0.113.7 or 10.1.0.0/16.'
            : 'Your requests reach the cloud from this address. Behind a proxy it is the address of the proxy.'
        }
      />
      <Select
        label="How long"
        {...form.choice('ruleType')}
        options={[
          ['permanent', 'Until it is removed'],
          ['temporary', 'For a time'],
        ]}
      />
      {ruleType === 'temporary' && (
        <Field label="Time" {...form.text('duration')} hint="Such as 30m or 1h0m0s." required />
      )}
      <Field label="Comment" {...form.text('comment')} />
    </FormDialog>
  );
}
