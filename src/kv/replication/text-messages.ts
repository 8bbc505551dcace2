// Reads the rare messages between data services, whose form is text.
import type { TextMessage } from './frames.ts';

const kinds: Readonly<Record<TextMessage['kind'], true>> = {
  hello: true,
  beat: true,
  beaten: true,
  ended: true,
  open: true,
  empty: true,
  opened: true,
  refused: true,
  failed: true,
};

/** @throws Error when the text is no message. */
export function decodeText(text: string): TextMessage {
  const message = JSON.parse(text) as TextMessage;
  if (!Object.hasOwn(kinds, message.kind)) throw new Error(`unknown message ${JSON.stringify(message.kind)}`);
  return message;
}
