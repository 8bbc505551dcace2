// One document: view, edit with its CAS, create, delete. If another client has changed it meanwhile, shows both versions.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { StoredDocument } from '../api/types.ts';
import { CodeField } from '../kit/code-field.tsx';
import { Button, Field } from '../kit/controls.tsx';
import { ConfirmByName, Dialog } from '../kit/dialog.tsx';
import { size, time } from '../kit/format.ts';
import { indented, jsonProblem } from '../kit/json-text.ts';
import { Problem } from '../kit/notices.tsx';
import { asApiError } from '../kit/use-resource.ts';
import { Attributes } from './document-attributes.tsx';
import type { CollectionPath } from './document-pages.ts';

/** With its form a larger document exceeds the limit of the REST API, and no browser edits it well. */
const editedCharsMax = 3_000_000;
const shownCharsMax = 2_000;

interface DocumentDialogProps {
  readonly path: CollectionPath;
  /** Null: a new document. */
  readonly documentKey: string | null;
  readonly onClose: (isChanged: boolean) => void;
}

export function DocumentDialog({ path, documentKey, onClose }: DocumentDialogProps) {
  const [stored, setStored] = useState<StoredDocument>();
  const [problem, setProblem] = useState<ApiError>();
  const [isChanged, setChanged] = useState(false);
  const load = async () => {
    if (documentKey === null) return;
    try {
      const document = { ...path, document: documentKey };
      setStored(await call<StoredDocument>(routes.document, { path: document, exactIntegers: true }));
    } catch (error) {
      setProblem(notFoundText(asApiError(error)));
    }
  };
  useEffect(() => void load(), []);
  const close = (isSaved: boolean) => onClose(isSaved || isChanged);
  return (
    <Dialog title={documentKey ?? 'Create a document'} onClose={() => close(false)}>
      <Problem problem={problem} />
      {documentKey === null && <Editor path={path} onClose={close} />}
      {stored && <Editor path={path} stored={stored} onClose={close} />}
      {stored?.json !== undefined && (
        <Attributes
          key={stored.meta.cas}
          path={path}
          stored={stored}
          onSaved={() => {
            setChanged(true);
            void load();
          }}
        />
      )}
      {problem && (
        <div class="row end">
          <Button onClick={() => close(false)}>Close</Button>
        </div>
      )}
    </Dialog>
  );
}

function notFoundText(problem: ApiError): ApiError {
  if (problem.status === 404 && problem.message.startsWith('The node answers'))
    return new ApiError(404, 'The collection has no document with this key.');
  return problem;
}

interface EditorProps {
  readonly path: CollectionPath;
  readonly stored?: StoredDocument;
  readonly onClose: (isChanged: boolean) => void;
}

/** The edited text, and the CAS with which it is saved: a save replaces only a version that the user has seen. */
function useEditor({ path, stored, onClose }: EditorProps) {
  const [key, setKey] = useState(stored?.meta.id ?? '');
  const [text, setText] = useState(stored ? indented(stored.json ?? '') : '{}');
  const [problem, setProblem] = useState<ApiError>();
  /** The version that another client has stored since this one was read. */
  const [otherVersion, setOtherVersion] = useState<StoredDocument>();
  const cas = useRef(stored?.meta.cas);
  const shown = useRef(stored);
  // A layout effect, so that no click comes between the new version on the screen and its CAS.
  useLayoutEffect(() => {
    // Only its attributes have changed here: what was typed still replaces the version that was shown.
    if (stored?.json === shown.current?.json) cas.current = stored?.meta.cas;
  }, [stored]);
  const target = { ...path, document: key };
  const save = async () => {
    setProblem(undefined);
    try {
      if (!stored && (await exists(target)))
        throw new ApiError(409, `The key “${key}” has a document already.`);
      await call(routes.storeDocument, {
        path: target,
        form: {
          value: text,
          cas: cas.current,
          ...(stored && stored.meta.flags > 0 && { flags: stored.meta.flags }),
        },
      });
      onClose(true);
    } catch (error) {
      const refused = asApiError(error);
      if (refused.status === 409 && stored) await showOtherVersion(refused);
      else setProblem(refused);
    }
  };
  const showOtherVersion = async (refused: ApiError) => {
    const now = await call<StoredDocument>(routes.document, { path: target }).catch(() => undefined);
    // While a document is locked, reads show another CAS than the stored one: it differs without a change.
    if (!now || now.meta.cas === cas.current || refused.message.includes('locked')) setProblem(refused);
    else setOtherVersion(now);
  };
  /** Lets the next save replace the version of the other client. */
  const acceptOtherVersion = ({ meta }: StoredDocument) => {
    cas.current = meta.cas;
    setOtherVersion(undefined);
  };
  return { key, setKey, text, setText, target, problem, otherVersion, acceptOtherVersion, save };
}

function Editor(props: EditorProps) {
  const { stored, onClose } = props;
  const editor = useEditor(props);
  const { key, text, setText, problem, otherVersion, acceptOtherVersion } = editor;
  const [isDeleting, setDeleting] = useState(false);
  const isBinary = stored !== undefined && stored.json === undefined;
  const isLarge = (stored?.json?.length ?? 0) > editedCharsMax;
  const isEdited = !isBinary && !isLarge;
  const syntax = isEdited ? jsonProblem(text) : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void editor.save();
      }}
    >
      {!stored && <Field label="Key" value={key} onInput={editor.setKey} required mono />}
      {stored && <Meta {...stored} />}
      {isBinary && (
        <p>
          This document is not JSON ({stored?.base64?.length ?? 0} characters as base64). It cannot be edited
          here.
        </p>
      )}
      {isLarge && <Beginning text={text} />}
      {isEdited && (
        <CodeField
          label="Document as JSON"
          language="json"
          value={text}
          onInput={setText}
          rows={14}
          problem={syntax}
        />
      )}
      {otherVersion && (
        <Conflict
          text={text}
          otherVersion={otherVersion}
          onKeepText={() => acceptOtherVersion(otherVersion)}
          onTakeOther={() => {
            acceptOtherVersion(otherVersion);
            setText(indented(otherVersion.json ?? ''));
          }}
        />
      )}
      <Problem problem={problem} />
      <div class="row end">
        <Button onClick={() => onClose(false)}>Close</Button>
        {stored && (
          <Button kind="danger" onClick={() => setDeleting(true)}>
            Delete document
          </Button>
        )}
        {isEdited && (
          <Button submit kind="main" disabled={syntax !== undefined || key === '' || !!otherVersion}>
            Save
          </Button>
        )}
      </div>
      {isDeleting && (
        <DeleteDialog
          target={editor.target}
          onDeleted={() => onClose(true)}
          onClose={() => setDeleting(false)}
        />
      )}
    </form>
  );
}

interface DeleteDialogProps {
  readonly target: CollectionPath & { readonly document: string };
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

function DeleteDialog({ target, onDeleted, onClose }: DeleteDialogProps) {
  return (
    <ConfirmByName
      title="Delete the document"
      name={target.document}
      action="Delete"
      onConfirm={async () => {
        await call(routes.deleteDocument, { path: { ...target } });
        onDeleted();
      }}
      onClose={onClose}
    >
      This deletes the document. It cannot be undone.
    </ConfirmByName>
  );
}

async function exists(path: Readonly<Record<string, string>>): Promise<boolean> {
  try {
    await call(routes.document, { path });
    return true;
  } catch (error) {
    if (asApiError(error).status === 404) return false;
    throw error;
  }
}

function Beginning({ text }: { text: string }) {
  return (
    <>
      <p>
        This document has {size(new Blob([text]).size)}: too large to be edited here.{' '}
        <code>divan doc get</code> and <code>divan doc set</code> read and write it.
      </p>
      <Field
        label="Beginning of the document"
        value={text.slice(0, shownCharsMax)}
        onInput={() => {}}
        rows={14}
        mono
        readOnly
      />
    </>
  );
}

function Meta({ meta }: StoredDocument) {
  return (
    <p class="quiet">
      CAS <span class="mono">{meta.cas}</span>, expires:{' '}
      {meta.expiration === 0 ? 'never' : time(meta.expiration * 1000)}
    </p>
  );
}

interface ConflictProps {
  /** The text in the editor. */
  readonly text: string;
  readonly otherVersion: StoredDocument;
  readonly onKeepText: () => void;
  readonly onTakeOther: () => void;
}

function Conflict({ text, otherVersion, onKeepText, onTakeOther }: ConflictProps) {
  return (
    <section aria-label="Conflict">
      <p class="notice caution" role="alert">
        Another client has changed this document since you opened it. Nothing was saved.
      </p>
      <div class="versions">
        <div>
          <h3>Your version</h3>
          <pre>{text}</pre>
          <Button onClick={onKeepText}>Continue with yours</Button>
        </div>
        <div>
          <h3>Stored version</h3>
          <pre>{otherVersion.json === undefined ? '(binary)' : indented(otherVersion.json)}</pre>
          <Button onClick={onTakeOther} disabled={otherVersion.json === undefined}>
            Take the stored one
          </Button>
        </div>
      </div>
    </section>
  );
}
