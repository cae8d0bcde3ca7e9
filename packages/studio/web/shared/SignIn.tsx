/** Signed out: the hidden part of the page, and the way to sign in if the program has one. */

/** The sign-in address, as passed to `Studio.layer`. */
const signIn = (): string | undefined =>
  document.querySelector<HTMLMetaElement>("meta[name='recourse-sign-in']")?.content

export const SignIn = ({ isKnown, what }: { readonly isKnown: boolean; readonly what: string }) => {
  const address = signIn()
  return (
    <main className="page-state">
      <div role="alert">
        <h1>{isKnown ? `${what} is for others.` : "You are not signed in."}</h1>
        <p>
          {isKnown
            ? "The account that you are signed in with may not see this page."
            : `Sign in to see ${what.toLowerCase()}.`}
        </p>
        {address === undefined ? null : <a className="button primary" href={address}>Sign in</a>}
      </div>
    </main>
  )
}
