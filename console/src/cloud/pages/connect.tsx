// Programs that connect to the cluster, with its addresses, a bucket and a user filled in.
import { useState } from 'preact/hooks';
import { ApiError } from '../../api/request.ts';
import { Button, Select } from '../../kit/controls.tsx';
import { Loaded, Problem } from '../../kit/notices.tsx';
import { useAction, useResource } from '../../kit/use-resource.ts';
import { addressTo } from '../../shell/router.ts';
import { call } from '../api/client.ts';
import { type Cluster, routes } from '../api/routes.ts';
import type { PartProps } from './cluster-part.ts';
import { passwordVariable, snippets } from './snippets.ts';

const connectionStringOf = ({ endpointsURL }: Cluster): string => `couchbase://${endpointsURL.join(',')}`;

export function Connect({ cluster }: PartProps) {
  const { id } = cluster;
  const choices = useResource(
    async (signal) => {
      const [buckets, users, entries] = await Promise.all([
        call(routes.buckets, { path: { id }, signal }),
        call(routes.users, { path: { id }, signal }),
        call(routes.allowlist, { path: { id }, signal }),
      ]);
      return {
        buckets: buckets.map(({ name }) => name),
        users: users.map(({ username }) => username),
        isClosed: entries.every(({ state }) => state === 'expired'),
      };
    },
    [id],
  );
  return (
    <Loaded from={choices}>
      {({ buckets, users, isClosed }) => (
        <>
          {isClosed && (
            <Missing
              id={id}
              part="allowlist"
              problem="The allowlist has no valid address, so no client can connect."
            >
              Add an address
            </Missing>
          )}
          {buckets.length === 0 && (
            <Missing id={id} part="buckets" problem="The cluster has no bucket.">
              Create a bucket
            </Missing>
          )}
          {users.length === 0 && (
            <Missing id={id} part="users" problem="The cluster has no database user.">
              Create a user
            </Missing>
          )}
          <Program
            connectionString={connectionStringOf(cluster)}
            buckets={buckets.length === 0 ? ['BUCKET'] : buckets}
            users={users.length === 0 ? ['USER'] : users}
          />
        </>
      )}
    </Loaded>
  );
}

interface MissingProps {
  readonly id: string;
  readonly part: string;
  readonly problem: string;
  readonly children: string;
}

function Missing({ id, part, problem, children }: MissingProps) {
  return (
    <p class="notice caution">
      {problem} <a href={addressTo(['cluster', id, part])}>{children}</a>
    </p>
  );
}

interface ProgramProps {
  readonly connectionString: string;
  readonly buckets: readonly string[];
  readonly users: readonly string[];
}

function Program({ connectionString, buckets, users }: ProgramProps) {
  const [sdk, setSdk] = useState(snippets[0]?.sdk ?? '');
  const [bucket, setBucket] = useState(buckets[0] ?? '');
  const [username, setUsername] = useState(users[0] ?? '');
  const snippet = snippets.find((each) => each.sdk === sdk);
  const code = snippet?.code({ connectionString, username, bucket }) ?? '';
  return (
    <>
      <p>
        Connection string: <span class="mono">{connectionString}</span>
      </p>
      <div class="row fields">
        <Select label="SDK" value={sdk} onChange={setSdk} options={snippets.map((each) => each.sdk)} />
        <Select label="Bucket" value={bucket} onChange={setBucket} options={buckets} />
        <Select label="User" value={username} onChange={setUsername} options={users} />
      </div>
      <p>
        Install: <span class="mono">{snippet?.install}</span>. The program takes the password of the user from
        the environment variable <span class="mono">{passwordVariable}</span>.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, also by keyboard. */}
      <section aria-label={`Program for ${sdk}`} tabIndex={0}>
        <pre>{code}</pre>
      </section>
      <CopyButton key={code} text={code} />
    </>
  );
}

function CopyButton({ text }: { text: string }) {
  const action = useAction();
  return (
    <>
      <Problem problem={action.problem} />
      <div class="row">
        <Button onClick={() => void action.run(() => copy(text))}>Copy</Button>
        <span role="status">{action.isDone && 'Copied.'}</span>
      </div>
    </>
  );
}

/** Browsers have a clipboard for pages that came over TLS or from the same machine, and may still refuse it. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    throw new ApiError(
      0,
      'The browser does not let this page copy: select the program, and copy it by hand.',
    );
  }
}
