// Certificates of the nodes, the authorities that the cluster trusts, and how clients log in with certificates.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Field, Select } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { time } from '../kit/format.ts';
import { Loaded, Problem } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useAction, useResource } from '../kit/use-resource.ts';
import { SettingsSection } from './settings-section.tsx';

interface Certificate {
  readonly node: string;
  readonly subject: string;
  /** Absent where the certificate cannot be read. */
  readonly expires?: string;
  readonly type: string;
  readonly warnings: readonly { readonly message: string }[];
}

interface Authority {
  readonly id: number;
  readonly subject: string;
  readonly notAfter: string;
  readonly type: string;
  readonly nodes: readonly string[];
}

export function Certificates() {
  const certificates = useResource((signal) => call<Certificate[]>(routes.certificates, { signal }));
  const authorities = useResource((signal) => call<Authority[]>(routes.authorities, { signal }));
  const [isRegenerating, setRegenerating] = useState(false);
  const action = useAction();
  const reload = () => {
    certificates.reload();
    authorities.reload();
  };
  const change = (work: () => Promise<unknown>) => void action.run(() => work().then(reload));
  const remove = ({ id }: Authority) =>
    change(() => call(routes.removeAuthority, { path: { authority: String(id) } }));
  return (
    <section aria-label="Certificates">
      <h2>Certificates</h2>
      <Problem problem={action.problem} />
      <Loaded from={certificates}>
        {(list) => (
          <Table
            caption="Certificates of the nodes"
            columns={certificateColumns}
            rows={list}
            rowKey={({ node }) => node}
            empty="The nodes have no certificates."
          />
        )}
      </Loaded>
      <h3>Authorities that the cluster trusts</h3>
      <Loaded from={authorities}>
        {(list) => (
          <Table
            caption="Authorities"
            columns={[...authorityColumns, removalColumn(remove)]}
            rows={list}
            rowKey={({ id }) => String(id)}
            empty="There are none."
          />
        )}
      </Loaded>
      <p class="hint">
        Nodes read certificates from the folder <code>inbox</code> of their data folder: authorities from{' '}
        <code>inbox/CA</code>, the certificate of the node from <code>inbox/chain.pem</code> and{' '}
        <code>inbox/pkey.key</code>. The buttons read those of the node that serves this page.
      </p>
      <div class="row pages">
        <Button disabled={action.isBusy} onClick={() => change(() => call(routes.loadAuthorities))}>
          Load authorities
        </Button>
        <Button disabled={action.isBusy} onClick={() => change(() => call(routes.reloadCertificate))}>
          Load the certificate of this node
        </Button>
        <Button kind="danger" disabled={action.isBusy} onClick={() => setRegenerating(true)}>
          Generate all anew
        </Button>
      </div>
      <ClientCertificates />
      {isRegenerating && (
        <RegenerateDialog
          onClose={() => {
            setRegenerating(false);
            reload();
          }}
        />
      )}
    </section>
  );
}

function RegenerateDialog({ onClose }: { onClose: () => void }) {
  return (
    <ConfirmByName
      title="Generate certificates anew"
      name="regenerate"
      action="Generate"
      onConfirm={() => call(routes.regenerateCertificates)}
      onClose={onClose}
    >
      The cluster gets a new authority and every node a new certificate, in place of loaded ones too. Clients
      that trust the old authority no longer connect.
    </ConfirmByName>
  );
}

const certificateColumns: readonly Column<Certificate>[] = [
  { label: 'Node', value: ({ node }) => node },
  { label: 'Subject', value: ({ subject }) => subject },
  { label: 'Kind', value: ({ type }) => type },
  { label: 'Valid until', value: ({ expires }) => (expires === undefined ? 'unknown' : time(expires)) },
  { label: 'Notes', value: ({ warnings }) => warnings.map(({ message }) => message).join(' ') },
];

const authorityColumns: readonly Column<Authority>[] = [
  { label: 'Subject', value: ({ subject }) => subject },
  { label: 'Kind', value: ({ type }) => type },
  { label: 'Valid until', value: ({ notAfter }) => time(notAfter) },
  { label: 'Nodes with its certificates', value: ({ nodes }) => nodes.join(', ') },
];

const removalColumn = (onRemove: (authority: Authority) => void): Column<Authority> => ({
  label: 'Actions',
  value: (authority) =>
    authority.nodes.length === 0 && (
      <Button kind="danger" label={`Remove ${authority.subject}`} onClick={() => onRemove(authority)}>
        Remove
      </Button>
    ),
});

interface ClientCertificateSettings {
  readonly state: string;
  readonly prefixes: readonly {
    readonly path: string;
    readonly prefix: string;
    readonly delimiter: string;
  }[];
}

function ClientCertificates() {
  return (
    <SettingsSection
      title="Login with client certificates"
      read={routes.clientCertificates}
      write={routes.setClientCertificates}
      from={({ state, prefixes }: ClientCertificateSettings) => ({
        state,
        path: prefixes[0]?.path ?? 'subject.cn',
        prefix: prefixes[0]?.prefix ?? '',
        delimiter: prefixes[0]?.delimiter ?? '',
        others: prefixes.slice(1),
      })}
      to={({ state, others, ...first }) => ({ json: { state, prefixes: [first, ...others] } })}
    >
      {(form) => (
        <div class="row fields">
          <Select
            label="Client certificates"
            {...form.choice('state')}
            options={[
              ['disable', 'not asked for'],
              ['enable', 'accepted'],
              ['mandatory', 'required'],
            ]}
          />
          <Field
            label="Part with the user name"
            {...form.text('path')}
            mono
            hint="subject.cn, san.uri, san.dnsname or san.email"
          />
          <Field label="Text before the name" {...form.text('prefix')} mono />
          <Field label="Characters that end the name" {...form.text('delimiter')} mono />
        </div>
      )}
    </SettingsSection>
  );
}
