// Puts together what an evidence pack holds. The audit is sealed first, so that what people decided a moment ago is in its chain.
import { createHash } from 'node:crypto'
import manifest from '../../../package.json' with { type: 'json' }
import { NO_HASH } from '../../base/keys/audit-hash.ts'
import { maskSecrets } from '../../base/log/redact.ts'
import type { Json } from '../../base/text/json.ts'
import type { Db, Queryable } from '../../db/connection/db.ts'
import { listSealedRows } from '../../db/orders/audit-chain.ts'
import { findPruning } from '../../db/orders/audit-pruning.ts'
import { type ChainHead, sealAudit } from '../../db/orders/audit-sealing.ts'
import {
  evidenceTables,
  findBatchRow,
  findLastRehearsal,
  findSealBefore,
  listOverrides,
  listUsedVersions,
} from '../../db/orders/evidence.ts'
import { readFingerprint } from '../../db/orders/retention.ts'
import type { BatchLine } from '../../db/views/batches.ts'
import type { Actor } from '../sign-in/sign-in.ts'
import type { PackDocument, PackSource } from './write-pack.ts'

const ROWS_PER_PAGE = 1_000
/** A request is in the audit by the time it began, and the batch by the time it was made. */
const BEFORE_BATCH_MS = 60_000

export async function packSource(
  db: Db,
  line: BatchLine,
  { id, name }: Pick<Actor, 'id' | 'name'>,
  now: Date,
): Promise<PackSource> {
  const { batchStartTime, runbookName, runbookVersion, status, endedAt } = line
  const { fingerprint, lastEventId } = await readFingerprint(db, line.id)
  const { name: program, version } = manifest
  return {
    head: {
      batch: {
        id: line.id,
        runbookName,
        runbookVersion,
        status,
        members: line.membersActive + line.membersFailed + line.membersRemoved,
        batchStartTime: batchStartTime?.toISOString() ?? null,
        endedAt: endedAt?.toISOString() ?? null,
      },
      createdAt: now.toISOString(),
      createdBy: { id, name },
      program: { name: program, version },
    },
    documents: documentsOf(db, line),
    tables: evidenceTables(db, line.id).map(({ name: table, pages }) => ({
      name: table,
      pages: async function* () {
        for await (const rows of pages()) yield rows.map(maskSecrets)
      },
    })),
    audit: await auditSince(db, line.detectedAt),
    picture: async () => {
      const after = await readFingerprint(db, line.id)
      return { lastEventId, hasChanged: after.fingerprint !== fingerprint }
    },
  }
}

const jsonText = (value: Json): string => `${JSON.stringify(value, null, 2)}\n`

async function* documentsOf(db: Queryable, line: BatchLine): AsyncGenerator<PackDocument> {
  yield { name: 'batch.json', text: jsonText(maskSecrets(await findBatchRow(db, line.id))) }
  const versions = await listUsedVersions(db, line.id)
  const listed: Json[] = []
  for (const { name, version, publishedBy, publishedAt, yamlContent } of versions) {
    const file = `runbooks/${name}-v${version}.yaml`
    const sha256 = createHash('sha256').update(yamlContent).digest('hex')
    listed.push({
      name,
      version,
      publishedBy,
      publishedAt: publishedAt.toISOString(),
      file,
      sha256,
    })
    yield { name: file, text: yamlContent }
  }
  yield { name: 'runbooks.json', text: jsonText(listed) }
  yield { name: 'overrides.json', text: jsonText(await listOverrides(db, line.id)) }
  const rehearsal = await findLastRehearsal(db, line.runbookName)
  if (rehearsal !== null) yield { name: 'rehearsal.json', text: jsonText(maskSecrets(rehearsal)) }
}

/** Every row of the chain since the batch was made: the hash of each covers the one before, so none can be left out. */
async function auditSince(db: Db, detectedAt: Date): Promise<PackSource['audit']> {
  let sealed = await sealAudit(db)
  while (sealed.count > 0) sealed = await sealAudit(db)
  const head: ChainHead = { sealed: sealed.sealed, hash: sealed.hash }
  const pruned = await findPruning(db)
  const begin = pruned && { sealed: pruned.through, hash: pruned.hash }
  const before = await findSealBefore(db, new Date(+detectedAt - BEFORE_BATCH_MS))
  const after = before ?? begin ?? { sealed: 0, hash: NO_HASH }
  return { after, head, pages: () => chainPages(db, after.sealed, head.sealed) }
}

async function* chainPages(
  db: Queryable,
  after: number,
  through: number,
): AsyncGenerator<readonly Json[]> {
  for (let last = after; ; ) {
    const rows = await listSealedRows(db, last, through, ROWS_PER_PAGE)
    yield rows.map((row) => ({ ...row, at: row.at.toISOString() }) as unknown as Json)
    if (rows.length < ROWS_PER_PAGE) return
    last = rows.at(-1)!.sealNumber
  }
}
