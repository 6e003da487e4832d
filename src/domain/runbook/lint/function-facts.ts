// What the rules know about a function: the standard catalogue says whether it changes something, how it is undone and whether it may
// run twice. Nothing is assumed about a custom function, or one that a member's data names.
import standardFunctions from '../standard-functions.json' with { type: 'json' }

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
