// Credentials of workers that take their jobs through the API: list, rotate, revoke.
import { useState } from 'react'
import { useChange, usePages } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Loaded } from '../../ui/feedback.tsx'
import { Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance, Time } from '../../ui/time.tsx'

type Credential = Answer<'GET /api/worker-credentials'>['credentials'][number]
type Asked = { readonly verb: 'rotate' | 'revoke'; readonly credential: Credential }

export function Credentials({ workerId }: { readonly workerId?: string }) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const [token, setToken] = useState<string | null>(null)
  const reading = usePages('GET /api/worker-credentials', {
    query: workerId === undefined ? {} : { workerId },
  })
  const close = () => setAsked(null)
  return (
    <Section title="Credentials for jobs over https">
      {token !== null && <NewToken token={token} onDone={() => setToken(null)} />}
      <Loaded reading={reading} what="the credentials">
        {({ pages }) => (
          <CredentialTable
            credentials={pages.flatMap(({ credentials }) => credentials)}
            more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
            total={pages[0]!.total}
            onAsk={setAsked}
          />
        )}
      </Loaded>
      {asked?.verb === 'revoke' && <Revoke credential={asked.credential} onClose={close} />}
      {asked?.verb === 'rotate' && (
        <Rotate credential={asked.credential} onClose={close} onToken={setToken} />
      )}
    </Section>
  )
}

interface CredentialTableProps {
  readonly credentials: readonly Credential[]
  readonly more: (() => void) | undefined
  readonly total: number
  readonly onAsk: (asked: Asked) => void
}

function CredentialTable({ credentials, more, total, onAsk }: CredentialTableProps) {
  const { mayChange } = useSession()
  if (credentials.length === 0)
    return (
      <p className="quiet">
        None. Workers on the bus need none; give one to a worker that only reaches this API with{' '}
        <code>matoolkit worker credential create</code>.
      </p>
    )
  return (
    <Table
      caption="Credentials of workers"
      rows={credentials}
      rowKey={({ id }) => id}
      more={more}
      total={total}
      columns={[
        { name: 'Worker', cell: (one) => one.workerId },
        {
          name: 'Credential',
          cell: ({ id, kind }) => (
            <>
              <code>{id}</code> <span className="quiet">{kind}</span>
            </>
          ),
        },
        { name: 'State', cell: ({ state }) => <Status status={state} /> },
        { name: 'Ends', cell: ({ endsAt }) => <Distance to={endsAt} /> },
        { name: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} none="never" /> },
        { name: 'Made by', cell: ({ createdBy }) => createdBy },
        ...(mayChange
          ? [
              {
                name: 'Action',
                cell: (one: Credential) => <Actions credential={one} onAsk={onAsk} />,
              },
            ]
          : []),
      ]}
    />
  )
}

function Actions({
  credential,
  onAsk,
}: {
  readonly credential: Credential
  readonly onAsk: (asked: Asked) => void
}) {
  const { id, kind, state } = credential
  if (state !== 'valid') return null
  return (
    <span className="row-actions">
      {/* A certificate is rotated with its successor's file, on the command line. */}
      {kind === 'token' && (
        <Button aria-label={`Rotate ${id}`} onClick={() => onAsk({ verb: 'rotate', credential })}>
          Rotate
        </Button>
      )}
      <Button aria-label={`Revoke ${id}`} onClick={() => onAsk({ verb: 'revoke', credential })}>
        Revoke
      </Button>
    </span>
  )
}

interface DialogProps {
  readonly credential: Credential
  readonly onClose: () => void
}

function Revoke({ credential: { id, workerId }, onClose }: DialogProps) {
  const revoke = useChange('POST /api/workers/{workerId}/credentials/{credentialId}/revoke')
  return (
    <Decision
      title={`Revoke a credential of ${workerId}`}
      verb="Revoke"
      isDanger
      reason="required"
      isBusy={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={(reason) =>
        revoke.mutate(
          { params: { workerId, credentialId: id }, body: { reason } },
          { onSuccess: onClose },
        )
      }
    >
      <p>
        <code>{id}</code> stops working at once. What {workerId} runs with it ends there; the
        results are refused, and the jobs go to others.
      </p>
    </Decision>
  )
}

interface RotateProps extends DialogProps {
  readonly onToken: (token: string | null) => void
}

function Rotate({ credential: { id, workerId }, onClose, onToken }: RotateProps) {
  const rotate = useChange('POST /api/workers/{workerId}/credentials/{credentialId}/rotate')
  return (
    <Decision
      title={`Rotate a credential of ${workerId}`}
      verb="Rotate"
      reason="optional"
      isBusy={rotate.isPending}
      error={rotate.error}
      onClose={onClose}
      onConfirm={(reason) =>
        rotate.mutate(
          { params: { workerId, credentialId: id }, body: reason ? { reason } : {} },
          {
            onSuccess: ({ token }) => {
              onToken(token)
              onClose()
            },
          },
        )
      }
    >
      <p>
        A new token is made and shown once. <code>{id}</code> works on for 24 hours, unless it ends
        sooner: give {workerId} the new one until then.
      </p>
    </Decision>
  )
}

const NewToken = ({ token, onDone }: { readonly token: string; readonly onDone: () => void }) => (
  <div className="note" role="status">
    <p>The new token, shown this once:</p>
    <p>
      <code className="token">{token}</code>
    </p>
    <Button onClick={onDone}>I have stored it</Button>
  </div>
)
