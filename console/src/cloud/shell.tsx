// The console of the cloud: the sign-in, and after it the frame with the pages.
import { useCallback, useState } from 'preact/hooks';
import { time } from '../kit/format.ts';
import { Frame } from '../shell/frame.tsx';
import type { Pages } from '../shell/page-entry.ts';
import { setCredentials } from './api/client.ts';
import type { Caller } from './api/routes.ts';
import { SignInForm } from './sign-in.tsx';

const pages: Pages = {
  projects: { title: 'Projects', load: () => import('./pages/projects.tsx') },
  clusters: { title: 'Clusters', load: () => import('./pages/clusters.tsx') },
  cluster: { title: 'Cluster', load: () => import('./pages/cluster.tsx'), within: 'clusters' },
  organization: { title: 'Organization', load: () => import('./pages/organization.tsx') },
};

export function CloudShell() {
  const [caller, setCaller] = useState<Caller>();
  const SignIn = useCallback(
    ({ onSignedIn }: { onSignedIn: () => void }) => (
      <SignInForm
        onSignedIn={(signedIn) => {
          setCaller(signedIn);
          onSignedIn();
        }}
      />
    ),
    [],
  );
  if (!caller)
    return (
      <main class="alone">
        <h1>Divan cloud: sign in</h1>
        <SignInForm onSignedIn={setCaller} />
      </main>
    );
  const signOut = () => {
    setCredentials('');
    setCaller(undefined);
  };
  return (
    <Frame
      brand="Divan cloud"
      server="cloud"
      caller={caller.expiresAt ? `${caller.role}, until ${time(caller.expiresAt)}` : caller.role}
      pages={pages}
      SignIn={SignIn}
      onSignOut={signOut}
      onEnd={signOut}
    />
  );
}
