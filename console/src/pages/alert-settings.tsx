// Alerts by mail: recipients, kinds, the mail server, and a test mail.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Checkbox, Field } from '../kit/controls.tsx';
import { Problem } from '../kit/notices.tsx';
import type { FormState } from '../kit/use-form.ts';
import { useAction } from '../kit/use-resource.ts';
import { SettingsSection } from './settings-section.tsx';

interface Alerts {
  readonly enabled: boolean;
  readonly recipients: readonly string[];
  readonly sender: string;
  readonly emailServer: {
    readonly host: string;
    readonly port: number;
    readonly encrypt: boolean;
    readonly user: string;
  };
  readonly alerts: readonly string[];
  readonly pop_up_alerts: readonly string[];
}

const valuesOf = ({ enabled, recipients, sender, emailServer, alerts, pop_up_alerts }: Alerts) => ({
  enabled,
  recipients: recipients.join(','),
  sender,
  emailHost: emailServer.host,
  emailPort: String(emailServer.port),
  emailEncrypt: emailServer.encrypt,
  emailUser: emailServer.user,
  emailPass: '',
  alerts,
  pop_up_alerts,
});
type Values = ReturnType<typeof valuesOf>;

/** A change replaces all settings: also those that this form does not show. */
const formOf = ({ alerts, pop_up_alerts, ...others }: Values) => ({
  ...others,
  alerts: alerts.join(','),
  pop_up_alerts: pop_up_alerts.join(','),
});

export function AlertSettings() {
  return (
    <SettingsSection
      title="Alerts by mail"
      read={routes.alerts}
      write={routes.setAlerts}
      from={valuesOf}
      to={(values) => ({ form: formOf(values) })}
    >
      {(form) => <AlertFields form={form} />}
    </SettingsSection>
  );
}

function AlertFields({ form }: { form: FormState<Values> }) {
  return (
    <>
      <Checkbox label="Send alerts by mail" {...form.flag('enabled')} />
      <div class="row fields">
        <Field label="Recipients" {...form.text('recipients')} hint="Separated by commas" />
        <Field label="Sender" {...form.text('sender')} />
      </div>
      <div class="row fields">
        <Field label="Mail server" {...form.text('emailHost')} problem={form.problemOf('email_host')} />
        <Field
          label="Port of the mail server"
          type="number"
          {...form.text('emailPort')}
          problem={form.problemOf('email_port')}
        />
        <Field
          label="User on the mail server"
          {...form.text('emailUser')}
          problem={form.problemOf('email_user')}
        />
        <Field
          label="Password on the mail server"
          type="password"
          {...form.text('emailPass')}
          problem={form.problemOf('email_pass')}
          autocomplete="new-password"
          hint="Never shown. Saving replaces it, also by an empty one."
        />
      </div>
      <Checkbox label="Encrypted connection to the mail server" {...form.flag('emailEncrypt')} />
      <Kinds
        chosen={form.values.alerts}
        all={form.values.pop_up_alerts}
        onChange={(kinds) => form.set('alerts', kinds)}
      />
      <TestMail values={form.values} />
    </>
  );
}

interface KindsProps {
  readonly chosen: readonly string[];
  readonly all: readonly string[];
  readonly onChange: (kinds: readonly string[]) => void;
}

function Kinds({ chosen, all, onChange }: KindsProps) {
  const kinds = [...new Set([...all, ...chosen])];
  return (
    <details>
      <summary>
        Kinds of alerts ({chosen.length} of {kinds.length})
      </summary>
      <fieldset>
        <legend>Kinds that are sent</legend>
        {kinds.map((kind) => (
          <Checkbox
            key={kind}
            label={kind.replaceAll('_', ' ')}
            checked={chosen.includes(kind)}
            onChange={(isChosen) =>
              onChange(isChosen ? [...chosen, kind] : chosen.filter((each) => each !== kind))
            }
          />
        ))}
      </fieldset>
    </details>
  );
}

function TestMail({ values }: { values: Values }) {
  const action = useAction();
  const form = {
    ...formOf(values),
    subject: 'Test mail from Divan',
    body: 'This mail was sent by the web console to test the settings of alerts.',
  };
  return (
    <>
      <Problem problem={action.problem} />
      <div class="row pages">
        <Button
          disabled={action.isBusy}
          onClick={() => void action.run(() => call(routes.testAlerts, { form }))}
        >
          {action.isBusy ? 'Sending…' : 'Send a test mail'}
        </Button>
        <span role="status">{action.isDone && 'The mail server has accepted the mail.'}</span>
      </div>
    </>
  );
}
