// Maps requests about alerts and their mail to the service.
import { type BoundRoute, bind, type Context, type Form, reply } from '#contract/route.ts';
import { parseAlertForm, readAlertForm, readTestMail } from './alert-form.ts';
import { type AlertLimits, defaultAlertLimits } from './alert-settings.ts';
import * as contract from './alerts.contract.ts';
import type { AlertsService } from './alerts.service.ts';
import type { SharedAlerts } from './shared-alerts.ts';

const mailFields = ['subject', 'body'];

export function alertRoutes(service: AlertsService, shared: Pick<SharedAlerts, 'silence'>): BoundRoute[] {
  const test = async ({ body }: { body: Form }, { signal }: Context) => {
    const settings = readAlertForm(body, mailFields);
    await service.test(settings, readTestMail(body), signal);
    return reply.empty();
  };
  return [
    bind(contract.GetAlerts, async () => reply.json(contract.shownAlerts(await service.read()))),
    bind(contract.ChangeAlerts, async ({ body, query }) => {
      if (query['just_validate'] === '1') return reply.json({ errors: problemsOf(body) });
      await service.change(readAlertForm(body));
      return reply.empty();
    }),
    bind(contract.GetAlertLimits, async () => reply.json(await service.limits())),
    bind(contract.ChangeAlertLimits, async ({ body, justValidate }) => {
      return reply.json(await (justValidate ? service.limits() : service.changeLimits(sentLimits(body))));
    }),
    bind(contract.ResetAlerts, ({ query: { token } }) => {
      shared.silence(token);
      return reply.empty();
    }),
    bind(contract.TestAlerts, test),
    bind(contract.SendTestAlert, test),
  ];
}

/** Validation of a form always answers with 200 here; null means that the form is valid. */
function problemsOf(body: Form): Record<string, string> | null {
  const { problems } = parseAlertForm(body);
  return problems.any ? problems.fields : null;
}

function sentLimits(
  body: { readonly [Name in keyof AlertLimits]: number | undefined },
): Partial<AlertLimits> {
  const names = Object.keys(defaultAlertLimits) as (keyof AlertLimits)[];
  return Object.fromEntries(
    names.filter((name) => body[name] !== undefined).map((name) => [name, body[name]]),
  );
}
