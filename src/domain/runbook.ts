// Reads a runbook: from YAML to either a Runbook or the list of everything that is wrong with it, each with line and column.
// Never throws for what an author wrote, and takes time in proportion to the file, which is at most 1 MB.
import { buildRunbook } from './runbook-build.ts'
import { checkCatalogues, type FunctionCatalogue } from './runbook-catalogues.ts'
import { readDocument } from './runbook-document.ts'
import type { Runbook } from './runbook-model.ts'
import { outlineOf } from './runbook-outline.ts'
import type { Problem } from './runbook-problems.ts'
import { checkRules } from './runbook-rules.ts'
import { checkStructure } from './runbook-structure.ts'
import { checkVariables } from './runbook-variables.ts'

export type { FunctionCatalogue } from './runbook-catalogues.ts'
export type { DataSource, Phase, Retry, Runbook, Safeguards, Step } from './runbook-model.ts'
export type { Problem } from './runbook-problems.ts'

export interface ReadOptions {
  /** The columns of a member file at hand; they count instead of those that the runbook declares. */
  readonly columns?: readonly string[]
  /** What the known workers can do; what none of them can is warned of. */
  readonly catalogues?: readonly FunctionCatalogue[]
}

/** The runbook is null when there is any error; warnings alone leave it usable. Problems come in the order of the file. */
export function readRunbook(
  source: Uint8Array | string,
  options: ReadOptions = {},
): { runbook: Runbook | null; problems: Problem[] } {
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
