// Alerts by mail: settings, test mails, and the queue of events to send.

import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import { type AlertKind, type AlertLimits, type AlertSettings, measuredKinds } from './alert-settings.ts';
import type { AlertsStore } from './alerts.store.ts';
import { MailQueue } from './mail-queue.ts';
import type { Mail, Mailer, MailOutcome } from './mailer.ts';

/** An event that is mailed to the recipients of its kind. */
export interface AlertEvent {
  kind: AlertKind;
  /** The whole text of the mail. */
  text: string;
}

/** Takes alert events; returns at once. */
export interface AlertSink {
  raise(event: AlertEvent): void;
}

export interface AlertsDeps {
  store: AlertsStore;
  mailer: Mailer;
  /** Called with a mail that is not retried any more. */
  lost(event: AlertEvent, reason: string): void;
  /** Called after each mail that was sent, with the recipients that the server accepted. */
  mailed?(event: AlertEvent, recipients: readonly string[]): void;
  clock: Clock;
  log: Log;
}

const testsAtOnceMax = 4;
/** Mails of this kind are not configured: they count as sent, so that they are not retried. */
const notConfigured: MailOutcome = { sent: true, refused: [], unsupported: [] };

export class AlertsService implements AlertSink {
  readonly #deps: AlertsDeps;
  readonly #queue: MailQueue<AlertEvent>;
  #testing = 0;

  constructor(deps: AlertsDeps) {
    this.#deps = deps;
    this.#queue = new MailQueue({
      ...deps,
      deliver: (event, signal) => this.#deliver(event, signal),
    });
  }

  read(): Promise<AlertSettings> {
    return this.#deps.store.read();
  }

  async change(settings: AlertSettings): Promise<void> {
    await this.#deps.store.write(settings);
    this.#queue.retry();
  }

  limits(): Promise<AlertLimits> {
    return this.#deps.store.limits();
  }

  changeLimits(changes: Partial<AlertLimits>): Promise<AlertLimits> {
    return this.#deps.store.changeLimits(changes);
  }

  raise(event: AlertEvent): void {
    this.#queue.add(event);
  }

  /** Sends one mail by unsaved settings; refuses with the reason if it cannot be sent. */
  async test(settings: AlertSettings, mail: { subject: string; text: string }, signal: AbortSignal) {
    const { server, sender, recipients } = settings;
    if (recipients.length === 0) throw settingsRefusals.noRecipients();
    if (this.#testing === testsAtOnceMax) throw settingsRefusals.tooManyTestMails();
    this.#testing++;
    try {
      const outcome = await this.#deps.mailer.send(server, { sender, recipients, ...mail }, signal);
      if (!outcome.sent) throw settingsRefusals.mailNotSent({ reason: outcome.reason });
      if (outcome.refused.length > 0)
        throw settingsRefusals.recipientsRefused({ recipients: outcome.refused.join(', ') });
      if (outcome.unsupported.length > 0)
        throw settingsRefusals.mailExtensionsUnsupported({ missing: outcome.unsupported.join(', and ') });
    } finally {
      this.#testing--;
    }
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  /** Uses the current settings, so that a correction applies to queued mails. */
  async #deliver(event: AlertEvent, signal: AbortSignal): Promise<MailOutcome> {
    const settings = await this.#deps.store.read();
    if (!settings.enabled || !settings.alerts.includes(event.kind)) return notConfigured;
    const outcome = await this.#deps.mailer.send(settings.server, alertMail(settings, event), signal);
    if (!outcome.sent) return outcome;
    const accepted = settings.recipients.filter((recipient) => !outcome.refused.includes(recipient));
    this.#deps.mailed?.(event, accepted);
    return outcome;
  }
}

const alertMail = ({ sender, recipients }: AlertSettings, { kind, text }: AlertEvent): Mail => ({
  sender,
  recipients,
  text,
  // Mails of auto-failover contain the kind itself, as published.
  subject: `Divan alert: ${(measuredKinds as Record<string, string>)[kind] ?? kind}`,
});
