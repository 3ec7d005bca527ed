/**
 * A Kubernetes Job that simulates one fleet from several pods: each pod is a shard, whose number the Job
 * gives it. Every report is the last line of its pod's log, which `simulate merge` finds there.
 */
export function simulateJob(version: string): string {
  return `# pbx-simulate ${version}: one fleet from several pods. See docs/simulate.md.
# Put in the place of @IMAGE@ an image with the program pbx-simulate at /usr/local/bin/pbx-simulate (any
# that has a glibc), of @PORTAL@ the portal's base URL, and make the Secret with the agents' tokens:
#   kubectl create secret generic pbx-simulate-tokens --from-file=tokens.jsonl
# When the Job is complete:
#   for pod in $(kubectl get pods -l job-name=pbx-simulate -o name); do
#     kubectl logs "$pod" > "\${pod##*/}.log"; done
#   pbx-simulate merge *.log --report reports --slo 'sync.p99<500ms,errors<0.1%'
apiVersion: batch/v1
kind: Job
metadata:
  name: pbx-simulate
  labels:
    app.kubernetes.io/name: pbx-simulate
    app.kubernetes.io/version: "${version}"
spec:
  # As many shards; the same number stands in the arguments.
  completions: ${SHARDS}
  parallelism: ${SHARDS}
  completionMode: Indexed
  # A shard that failed is not begun again: its agents' tokens are used, and the others are done by then.
  backoffLimit: 0
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels:
        app.kubernetes.io/name: pbx-simulate
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 60
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: simulate
          image: "@IMAGE@"
          workingDir: /simulate
          command: ["/usr/local/bin/pbx-simulate"]
          args:
            - --portal=@PORTAL@
            - --tokens=tokens/tokens.jsonl
            - --agents=10000
            - --duration=10m
            - --shards=${SHARDS}
            - --report=-
          resources:
            requests:
              cpu: "1"
              memory: 2Gi
            limits:
              memory: 4Gi
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: ["ALL"]
          volumeMounts:
            - name: tokens
              mountPath: /simulate/tokens
              readOnly: true
      volumes:
        - name: tokens
          secret:
            secretName: pbx-simulate-tokens
`;
}

const SHARDS = 4;
