// The expiry and the extended attributes of a document, changed by a statement: documents over REST have no way to set them.
import { exactObject } from '../../../src/base/exact-json.ts';
import { ApiError } from '../api/client.ts';
import type { StoredDocument } from '../api/types.ts';
import { Button, Field } from '../kit/controls.tsx';
import { Form } from '../kit/form.tsx';
import { objectProblem } from '../kit/json-text.ts';
import { useForm } from '../kit/use-form.ts';
import type { CollectionPath } from './document-pages.ts';
import { runForm } from './query-run.ts';

interface AttributesProps {
  readonly path: CollectionPath;
  readonly stored: StoredDocument;
  readonly onSaved: () => void;
}

export function Attributes({ path, stored, onSaved }: AttributesProps) {
  const { meta, xattrs } = stored;
  const form = useForm({ expires: localTime(meta.expiration), xattrs: JSON.stringify(xattrs, null, 2) });
  const wrong = attributesProblem(form.values.xattrs);
  const isExpiryChanged = form.values.expires !== localTime(meta.expiration);
  const save = () =>
    change(path, stored, {
      ...(isExpiryChanged && { expiration: secondsOf(form.values.expires) }),
      // Numbers reach the server with the digits that were typed.
      xattrs: exactObject(form.values.xattrs) ?? {},
    });
  const names = Object.keys(xattrs).sort();
  return (
    <details>
      <summary>Expiry and extended attributes{names.length > 0 && `: ${names.join(', ')}`}</summary>
      <Form
        action={form}
        onSubmit={save}
        onDone={onSaved}
        buttons={
          <div class="row end">
            <Button submit disabled={form.isBusy || wrong !== undefined}>
              Save expiry and attributes
            </Button>
          </div>
        }
      >
        <Field label="Expires" type="datetime-local" {...form.text('expires')} hint="Empty: never." />
        <Field
          label="Extended attributes as JSON"
          {...form.text('xattrs')}
          rows={6}
          mono
          hint="Saved by a statement of the query service, which needs the role query_update."
          problem={wrong}
        />
      </Form>
    </details>
  );
}

function attributesProblem(text: string): string | undefined {
  const syntax = objectProblem(text, '{"name": value}');
  if (syntax !== undefined) return syntax;
  const name = Object.keys(JSON.parse(text) as object).find((each) => /[.[\]`]/.test(each));
  // A statement would read these characters as the path of a part of an attribute.
  return name === undefined ? undefined : `The name “${name}” has one of the characters . [ ] \``;
}

type AttributeValues = Readonly<Record<string, unknown>>;

/** Changes what differs, and nothing if another client has changed the document. */
async function change(
  path: CollectionPath,
  { meta, xattrs: before }: StoredDocument,
  { expiration, xattrs }: { readonly expiration?: number; readonly xattrs: AttributeValues },
): Promise<void> {
  const text = (value: unknown) => JSON.stringify(value);
  const changed = Object.keys(xattrs).filter((name) => text(xattrs[name]) !== text(before[name]));
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(xattrs, name));
  const sets = changed.map((name, index) => `META(d).xattrs.${quoted(name)} = $x${index}`);
  if (expiration !== undefined) sets.push('META(d).expiration = $expiration');
  const unsets = removed.map((name) => `META(d).xattrs.${quoted(name)}`);
  if (sets.length + unsets.length === 0) return;
  const statement = [
    `UPDATE ${[path.bucket, path.scope, path.collection].map(quoted).join('.')} AS d USE KEYS $key`,
    sets.length > 0 ? `SET ${sets.join(', ')}` : '',
    unsets.length > 0 ? `UNSET ${unsets.join(', ')}` : '',
    'WHERE META(d).cas = $cas RETURNING RAW META(d).id',
  ];
  const form = {
    statement: statement.join(' '),
    $key: text(meta.id),
    $cas: meta.cas,
    ...(expiration !== undefined && { $expiration: expiration }),
    ...Object.fromEntries(changed.map((name, index) => [`$x${index}`, text(xattrs[name])])),
  };
  const results = await runForm(form);
  if (results.length === 0)
    throw new ApiError(409, 'Another client has changed this document since you opened it: open it again.');
}

const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

/** The time as the value of a date control, in the viewer's zone; empty: never. */
function localTime(seconds: number): string {
  if (seconds === 0) return '';
  const at = new Date(seconds * 1000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const secondsOf = (text: string): number => (text === '' ? 0 : Math.floor(new Date(text).getTime() / 1000));
