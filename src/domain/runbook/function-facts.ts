// What the rules know about a function: the standard catalogue says whether it changes something, how it is undone and whether it may
// run twice. Nothing is assumed about a custom function, or one that a member's data names.
import standardFunctions from '../../m365/standard-functions.json' with { type: 'json' }

export type FunctionEffect = 'reads' | 'tells' | 'changes'

/** What the engine may rely on about a function. Its package declares it, and a worker's catalogue carries it. */
export interface DeclaredFacts {
  /** Unknown counts as `changes`. */
  readonly effect: FunctionEffect
  readonly isIdempotent: boolean
  /** Functions that take it back. */
  readonly undoneBy: readonly string[]
  readonly isIrreversible?: true
  /** The object is gone afterwards, until one of `undoneBy` restores it. */
  readonly removes?: true
  /** Checks see the changes of functions with the same subject. */
  readonly subject?: string
  /** Its result counts something that may run out: a gate adds it up. */
  readonly countsSupply?: true
}

export interface FunctionFacts {
  readonly name: string
  readonly isIdempotent: boolean
  /** Changes something that can be undone or is lost for good. */
  readonly isChange: boolean
  readonly isNotice: boolean
  readonly isCheck: boolean
  /** Names in lower case. */
  readonly undoneBy: ReadonlySet<string>
  /** As written in the catalogue. */
  readonly undoNames: readonly string[]
  readonly isIrreversible: boolean
  /** The object is gone afterwards, for good or until it is restored. */
  readonly isDeletion: boolean
  /** Checks of one side see only its own changes. */
  readonly service: 'entra' | 'exchange'
}

/** What `npm run docs` writes about a function, from its definition. */
interface CatalogueEntry {
  readonly name: string
  readonly isIdempotent: boolean
  readonly hasUndo: boolean
  readonly undoneBy: readonly string[]
  readonly isIrreversible?: boolean
}
const CATALOGUE: readonly CatalogueEntry[] = standardFunctions

export function functionFacts(functionName: string): FunctionFacts | null {
  const wanted = functionName.toLowerCase()
  const entry = CATALOGUE.find(({ name }) => name.toLowerCase() === wanted)
  if (!entry) return null
  const { name, isIdempotent, hasUndo, undoneBy, isIrreversible = false } = entry
  return {
    name,
    isIdempotent,
    isChange: hasUndo,
    isNotice: name.startsWith('Send-'),
    isCheck: /^(Test|Get)-/.test(name),
    undoneBy: new Set(undoneBy.map((one) => one.toLowerCase())),
    undoNames: undoneBy,
    isIrreversible,
    isDeletion: isIrreversible || undoneBy.some((one) => one.startsWith('Restore-')),
    service: name.includes('-Entra') ? 'entra' : 'exchange',
  }
}

const known = new Map<string, boolean>()
const NAMES_KEPT_MAX = 1_000

/** False for a function of the standard catalogue that only reads or tells a person something. A name that is a template counts as a change. */
export function mayChangeTenant(functionName: string): boolean {
  const found = known.get(functionName)
  if (found !== undefined) return found
  const facts = functionFacts(functionName)
  // A mail to a person changes no tenant.
  const mayChange = facts === null || !(facts.isCheck || facts.isNotice)
  if (known.size < NAMES_KEPT_MAX) known.set(functionName, mayChange)
  return mayChange
}

/** The steps after which nothing that came before can be taken back. What is not in the catalogue is not judged. */
export const noReturnSteps = (
  steps: readonly { readonly name: string; readonly function: string }[],
): string[] =>
  steps.filter((step) => functionFacts(step.function)?.isIrreversible).map(({ name }) => name)
