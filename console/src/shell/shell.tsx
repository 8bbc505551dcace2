// The console of a node: who is signed in, or the form that sets a new node up.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Identity } from '../api/types.ts';
import { Button } from '../kit/controls.tsx';
import { Loaded, Problem } from '../kit/notices.tsx';
import { asApiError, useResource } from '../kit/use-resource.ts';
import { Frame } from './frame.tsx';
import { pages } from './pages.ts';
import { SignInForm } from './sign-in.tsx';

/** What the node says about the caller at the start, and after each change of it. */
type State =
  | { readonly kind: 'loading' }
  | { readonly kind: 'unreachable'; readonly problem: ApiError }
  | { readonly kind: 'new' }
  | { readonly kind: 'signed-out' }
  | { readonly kind: 'signed-in'; readonly identity: Identity };

export function Shell() {
  const [state, setState] = useState<State>({ kind: 'loading' });
  const refresh = () => void currentState().then(setState);
  useEffect(refresh, []);
  if (state.kind === 'loading') return <p class="alone">Loading…</p>;
  if (state.kind === 'unreachable')
    return (
      <main class="alone">
        <h1>Divan</h1>
        <Problem problem={state.problem} />
        <Button onClick={refresh}>Try again</Button>
      </main>
    );
  if (state.kind === 'signed-in')
    return (
      <Frame
        brand="Divan"
        server="node"
        caller={state.identity.id}
        pages={pages}
        SignIn={SignInForm}
        onSignOut={() => void call(routes.signOut).then(refresh, refresh)}
        onEnd={refresh}
      />
    );
  return (
    <main class="alone">
      <h1>{state.kind === 'new' ? 'Divan: this node is not set up yet' : 'Divan: sign in'}</h1>
      {state.kind === 'new' ? <SetUp onDone={refresh} /> : <SignInForm onSignedIn={refresh} />}
    </main>
  );
}

async function currentState(): Promise<State> {
  try {
    const identity = await call<Identity>(routes.whoAmI);
    if (identity.domain !== 'anonymous') return { kind: 'signed-in', identity };
    const isNew = await call(routes.cluster).catch((error: ApiError) => error.status === 404);
    return { kind: isNew === true ? 'new' : 'signed-out' };
  } catch (error) {
    return { kind: 'unreachable', problem: asApiError(error) };
  }
}

function SetUp({ onDone }: { onDone: () => void }) {
  const form = useResource(() =>
    import('../pages/set-up.tsx').catch(() => {
      throw new ApiError(0, 'The form could not be loaded: the node does not answer.');
    }),
  );
  return <Loaded from={form}>{({ SetUpForm }) => <SetUpForm onDone={onDone} />}</Loaded>;
}
