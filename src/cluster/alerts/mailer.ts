// What alerts ask of the world: one mail to one server, tried once.
import type { MailServer } from './alert-settings.ts';

export interface Mail {
  sender: string;
  recipients: readonly string[];
  subject: string;
  text: string;
}

export type MailOutcome =
  /**
   * `refused`: recipients that the server did not take while it took others. `lacking`: what the mail needed and the server,
   * which took it all the same, does not offer.
   */
  | { readonly sent: true; readonly refused: readonly string[]; readonly lacking: readonly string[] }
  /** `lasting`: another try would get the same answer. `reason` holds no secret. */
  | { readonly sent: false; readonly reason: string; readonly lasting: boolean };

export interface Mailer {
  /** Ends within a quarter of a minute, whatever the server does. */
  send(server: MailServer, mail: Mail, signal: AbortSignal): Promise<MailOutcome>;
}
