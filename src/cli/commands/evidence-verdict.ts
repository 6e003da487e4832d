// The verdict on an evidence pack, as fields and as sentences.

import type { PackVerdict } from '../../api/evidence/verify-pack.ts'
import { EXIT } from '../../base/errors/errors.ts'
import { printable } from '../../base/text/printable.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'

export const VERDICT: readonly Column<ReturnType<typeof verdictRow>>[] = [
  ['file', 'file', 'whole'],
  ['verdict', 'verdict', 'whole'],
  ['batch', 'batch.id'],
  ['runbook', 'batch.runbookName'],
  ['members', 'batch.members'],
  ['created', 'createdAt'],
  ['by', 'createdBy.name'],
  ['files', 'fileCount'],
  ['audit rows', 'auditRows'],
  ['head', 'auditHead.hash'],
  ['key', 'signedBy'],
]

/** `named` is the fingerprint of the key that the caller trusts; null accepts any. */
export function verdictRow(file: string, verdict: PackVerdict, named: string | null) {
  const { findings, findingCount, manifest, signedBy } = verdict
  const isIntact = findingCount === 0
  return {
    file,
    isIntact,
    isKeyNamed: isIntact && named !== null,
    verdict: verdictText(verdict, named),
    batch: manifest?.batch ?? null,
    createdAt: manifest?.createdAt ?? null,
    createdBy: manifest?.createdBy ?? null,
    program: manifest?.program ?? null,
    tables: manifest?.tables ?? null,
    fileCount: manifest?.files.length ?? null,
    auditRows: manifest?.tables.audit ?? null,
    auditHead: manifest?.audit.head ?? null,
    hasChanged: manifest?.picture.hasChanged ?? null,
    signedBy,
    findingCount,
    findings: [...findings],
  }
}

function verdictText({ findingCount }: PackVerdict, named: string | null): string {
  if (findingCount > 0) return 'NOT INTACT'
  return named === null ? 'intact, signed by a key that you did not name' : 'intact'
}

/** On stderr: what is wrong, and what the verdict does not say. Sets the exit code. */
export function sayVerdict(io: Io, verdict: PackVerdict, named: string | null): void {
  const { findings, findingCount, manifest, signedBy } = verdict
  for (const finding of findings) io.err(`error: ${printable(finding)}`)
  if (findingCount > findings.length)
    io.err(`error: and ${findingCount - findings.length} more findings`)
  if (findingCount > 0) {
    io.exitCode = EXIT.failed
    return
  }
  if (manifest?.picture.hasChanged)
    io.err('note: The batch changed while it was read, so its files may show different moments.')
  if (named === null)
    io.err(
      `warning: The pack is signed by a key that you did not name. Compare its fingerprint with the one that the operators gave you on another way, or name it: --fingerprint ${signedBy}`,
    )
}
