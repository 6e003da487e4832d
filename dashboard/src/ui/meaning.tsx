// What a known error means, who acts and what to do: the same sentences as in the command line.
import type { ErrorMeaning } from '../../../src/domain/needs/error-meaning.ts'
import { remedyText } from '../../../src/domain/needs/remedy.ts'
import { useSession } from '../sign-in/use-session.ts'

export function Meaning({ meaning }: { readonly meaning: ErrorMeaning }) {
  const { mayChange } = useSession()
  return (
    <p className="meaning">
      <strong>{meaning.means}</strong> {/* Commands stand between backticks. */}
      {remedyText(meaning, mayChange ? undefined : 'the migration team')
        .split('`')
        .map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}
    </p>
  )
}
