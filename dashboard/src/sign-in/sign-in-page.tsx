// What a person sees who is not signed in: why, and what to do.
import { Button } from '../ui/button.tsx'
import { type SignedOut, signIn } from './session.ts'

export function SignInPage({ session }: { readonly session: SignedOut }) {
  return (
    <main className="sign-in">
      <h1>matoolkit</h1>
      <SignInWay session={session} />
    </main>
  )
}

function SignInWay({ session }: { readonly session: SignedOut }) {
  if (session.kind === 'refused') return <p role="alert">{session.reason}</p>
  if (session.kind === 'needs-sign-in') {
    return (
      <>
        <p>Sign in with your work account to see the migration.</p>
        <Button kind="primary" onClick={() => void signIn(session.issuer)}>
          Sign in
        </Button>
      </>
    )
  }
  return (
    <>
      <p>
        This page needs the link that the program printed when it started. It holds a token for this
        machine.
      </p>
      <p>
        To print the link again, run <code>matoolkit status --link</code> in the folder where{' '}
        <code>matoolkit up</code> runs.
      </p>
    </>
  )
}
