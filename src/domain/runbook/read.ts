// Reads a runbook: from YAML to either a Runbook or the list of everything that is wrong with it, each with line and column.
// Never throws for what an author wrote, and takes time in proportion to the file, which is at most 1 MB.
import { buildRunbook } from './build.ts'
import { checkCatalogues, type FunctionCatalogue } from './catalogues.ts'
import { readDocument } from './document.ts'
import type { Runbook } from './model.ts'
import { outlineOf } from './outline.ts'
import type { RunbookProblem } from './problems.ts'
import { checkRules } from './rules.ts'
import { checkStructure } from './structure.ts'
import { checkVariables } from './variables.ts'

export type { FunctionCatalogue } from './catalogues.ts'
export type {
  DataSource,
  RetryPolicyDefinition,
  Runbook,
  RunbookPhase,
  RunbookStep,
  Safeguards,
} from './model.ts'
export type { RunbookProblem } from './problems.ts'

export interface ReadRunbookOptions {
  /** The columns of a member file at hand; they count instead of those that the runbook declares. */
  readonly columns?: readonly string[]
  /** What the known workers can do; what none of them can is warned of. */
  readonly catalogues?: readonly FunctionCatalogue[]
}

/** The runbook is null when there is any error; warnings alone leave it usable. Problems come in the order of the file. */
export function readRunbook(
  source: Uint8Array | string,
  options: ReadRunbookOptions = {},
): { runbook: Runbook | null; problems: RunbookProblem[] } {
  const { root, findings } = readDocument(source)
  if (root) checkStructure(root, findings)
  if (root?.kind === 'map') {
    const outline = outlineOf(root)
    checkRules(root, outline, findings, options.columns)
    checkVariables(outline, findings, options.columns)
    checkCatalogues(outline, findings, options.catalogues ?? [])
  }
  const problems = findings.problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
  const usable = root?.kind === 'map' && !findings.hasErrors
  return { runbook: usable ? buildRunbook(root) : null, problems }
}
