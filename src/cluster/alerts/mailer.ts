// The port for sending mail: one mail to one server, tried once.
import type { MailServer } from './alert-settings.ts';

export interface Mail {
  sender: string;
  recipients: readonly string[];
  subject: string;
  text: string;
}

export type MailOutcome =
  /**
   * `refused`: recipients that the server refused while it accepted others. `unsupported`: extensions that the mail needed and that the
   * server, which accepted the mail nevertheless, does not offer.
   */
  | { readonly sent: true; readonly refused: readonly string[]; readonly unsupported: readonly string[] }
  /** `permanent`: a retry would fail in the same way. `reason` holds no secret. */
  | { readonly sent: false; readonly reason: string; readonly permanent: boolean };

export interface Mailer {
  /** Ends within 15 seconds, with any server. */
  send(server: MailServer, mail: Mail, signal: AbortSignal): Promise<MailOutcome>;
}
