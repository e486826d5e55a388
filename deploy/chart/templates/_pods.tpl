{{/* The values of the pods of a process: those of all pods with those of the process. Arguments: root, values. Returns YAML. */}}
{{- define "baton.podValues" -}}
{{- $common := .root.Values.pods -}}
{{- $own := .values.pods | default dict -}}
{{- $merged := mergeOverwrite (deepCopy $common) (deepCopy $own) -}}
{{- range list "extraEnv" "extraVolumes" "extraVolumeMounts" "tolerations" -}}
{{- $_ := set $merged . (concat (get $common . | default list) (get $own . | default list)) -}}
{{- end -}}
{{- toYaml $merged -}}
{{- end -}}

{{/*
The environment from the Secrets of a process. A question mark behind a group: the process also starts without it.
A Secret whose keys differ from the variables is read key by key. Arguments: root, secrets (groups). Returns YAML.
*/}}
{{- define "baton.secretSources" -}}
{{- range .secrets }}
{{- $group := trimSuffix "?" . }}
{{- if not (get $.root.Values.secrets $group).keys }}
- secretRef:
    name: {{ include "baton.secretName" (dict "root" $.root "group" $group) }}
    {{- if hasSuffix "?" . }}
    optional: true
    {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "baton.secretVariables" -}}
{{- range .secrets }}
{{- $optional := hasSuffix "?" . }}
{{- $group := trimSuffix "?" . }}
{{- range $variable, $key := (get $.root.Values.secrets $group).keys }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ include "baton.secretName" (dict "root" $.root "group" $group) }}
      key: {{ $key }}
      {{- if $optional }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Where the pods run, and what is the same in all of them. Arguments: root, account, and pods, the values of the pods. */}}
{{- define "baton.podSettings" -}}
serviceAccountName: {{ .account | default (include "baton.serviceAccount" .root) }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .pods.podSecurityContext | nindent 2 }}
{{- with .pods.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pods.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pods.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pods.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* The variables of a container. Arguments: root, secrets (groups), catalogue, versioned, buildId, pods. Returns YAML. */}}
{{- define "baton.env" -}}
{{- include "baton.secretVariables" . }}
{{- if and .catalogue .root.Values.agents.catalogue }}
- name: AGENTS_FILE
  value: /etc/baton/agents/agents.yml
{{- end }}
{{- if and .versioned .buildId }}
- name: BATON_BUILD_ID
  value: {{ .buildId | quote }}
- name: BATON_DEPLOYMENT
  value: {{ include "baton.deploymentOfVersions" .root | quote }}
{{- end }}
{{- with .pods.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
The Deployment of a process. Arguments: root, component, values, secrets (groups), serves (whether it serves HTTP), catalogue
(whether it reads agents.yml), versioned (whether it runs workflows), buildId, scaled (whether an autoscaler sets the number of
pods). Only for workers: name, labelled (whether the version is a label). For workers of an old version: image, replicas.
*/}}
{{- define "baton.deployment" -}}
{{- $root := .root -}}
{{- $pods := include "baton.podValues" . | fromYaml -}}
{{- $identity := dict "root" $root "component" .component "name" (.name | default .component) -}}
{{- if .labelled }}{{ $_ := set $identity "buildId" .buildId }}{{ end -}}
{{- $selector := include "baton.selector" $identity -}}
{{- $health := .serves | ternary "http" "metrics" -}}
{{- $hasCatalogue := and .catalogue $root.Values.agents.catalogue -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "baton.metadata" $identity | nindent 2 }}
spec:
  {{- if not .scaled }}
  replicas: {{ .replicas | default .values.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  strategy:
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  selector:
    matchLabels:
      {{- $selector | nindent 6 }}
  template:
    metadata:
      labels:
        {{- with $pods.labels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- $selector | nindent 8 }}
      annotations:
        # Processes read their configuration at startup.
        checksum/configuration: {{ list $root.Values.configuration $root.Values.agents | toJson | sha256sum }}
        {{- with $pods.annotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- include "baton.podSettings" (dict "root" $root "pods" $pods) | nindent 6 }}
      # Up to 20 s for the shutdown of the process, {{ .serves | ternary "5 s before it until no new requests arrive, " "" }}and a margin.
      terminationGracePeriodSeconds: 40
      {{- with $pods.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- range . }}
        - labelSelector:
            matchLabels:
              {{- $selector | nindent 14 }}
          {{- toYaml . | nindent 10 }}
        {{- end }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "baton.image" . }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [{{ .component }}]
          envFrom:
            - configMapRef: { name: {{ include "baton.fullname" $root }} }
            {{- include "baton.secretSources" . | trim | nindent 12 }}
          {{- with include "baton.env" (merge (dict "pods" $pods) .) | trim }}
          env:
            {{- . | nindent 12 }}
          {{- end }}
          ports:
            {{- if .serves }}
            - { name: http, containerPort: 3000 }
            {{- end }}
            - { name: metrics, containerPort: 9464 }
          startupProbe:
            httpGet: { path: /health/live, port: {{ $health }} }
            periodSeconds: 1
            failureThreshold: 60
          readinessProbe:
            httpGet: { path: /health/ready, port: {{ $health }} }
            periodSeconds: 5
            timeoutSeconds: 4
            failureThreshold: 2
          livenessProbe:
            httpGet: { path: /health/live, port: {{ $health }} }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          {{- if .serves }}
          lifecycle:
            # Load balancers notice the shutdown a moment after the process.
            preStop: { sleep: { seconds: 5 } }
          {{- end }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            {{- toYaml $pods.securityContext | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- if $hasCatalogue }}
            - { name: agents, mountPath: /etc/baton/agents, readOnly: true }
            {{- end }}
            {{- with $pods.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: { sizeLimit: 512Mi }
        {{- if $hasCatalogue }}
        - name: agents
          configMap: { name: {{ include "baton.fullname" $root }}-agents }
        {{- end }}
        {{- with $pods.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/*
A Job that runs one command of the image. Arguments: root, component, args, secrets (groups), configured (whether it gets the
ConfigMap), versioned, account (default: that of the chart), annotations, resources.
*/}}
{{- define "baton.job" -}}
{{- $root := .root -}}
{{- $pods := include "baton.podValues" (dict "root" $root "values" dict) | fromYaml -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "baton.metadata" (dict "root" $root "component" .component "name" .component) | nindent 2 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  backoffLimit: 6
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels:
        {{- with $pods.labels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "baton.selector" (dict "root" $root "component" .component) | nindent 8 }}
    spec:
      {{- include "baton.podSettings" (dict "root" $root "pods" $pods "account" .account) | nindent 6 }}
      restartPolicy: OnFailure
      containers:
        - name: {{ .component }}
          image: {{ include "baton.image" (dict "root" $root) }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: {{ toJson .args }}
          {{- $sources := include "baton.secretSources" . | trim }}
          {{- if or .configured $sources }}
          envFrom:
            {{- if .configured }}
            - configMapRef: { name: {{ include "baton.fullname" $root }} }
            {{- end }}
            {{- $sources | nindent 12 }}
          {{- end }}
          {{- with include "baton.env" (merge (dict "pods" $pods "buildId" $root.Values.versions.buildId) .) | trim }}
          env:
            {{- . | nindent 12 }}
          {{- end }}
          resources:
            {{- toYaml .resources | nindent 12 }}
          securityContext:
            {{- toYaml $pods.securityContext | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- with $pods.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: { sizeLimit: 512Mi }
        {{- with $pods.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/* At most one pod of a process stops at a time, when nodes are drained. Arguments: root, component. */}}
{{- define "baton.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "baton.metadata" (dict "root" .root "component" .component "name" .component) | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "baton.selector" (dict "root" .root "component" .component) | nindent 6 }}
{{- end -}}

{{/* The Service and the autoscaler of a process that serves HTTP. Arguments: root, component, values. */}}
{{- define "baton.serving" -}}
{{- $identity := dict "root" .root "component" .component "name" .component -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "baton.metadata" $identity | nindent 2 }}
  {{- with .values.service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  selector:
    {{- include "baton.selector" $identity | nindent 4 }}
  ports:
    - { name: http, port: 80, targetPort: http }
{{- if .values.autoscaling.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "baton.metadata" $identity | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "baton.fullname" .root }}-{{ .component }}
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ .values.autoscaling.cpuUtilization }} }
  behavior:
    scaleDown:
      stabilizationWindowSeconds: {{ .values.autoscaling.scaleDownSeconds }}
      policies:
        - { type: Pods, value: 1, periodSeconds: 60 }
{{- end }}
{{- end -}}

{{/*
The Deployments of a worker: of this version, and of the old versions that still run. Arguments: root, component, values, secrets
(groups), catalogue, oldReplicas (the name of the number of pods in `versions.old`), queues (the task queues that it is scaled by,
with their types).
*/}}
{{- define "baton.worker" -}}
{{- $root := .root -}}
{{- $versions := .root.Values.versions -}}
{{- $worker := dict "root" $root "component" .component "values" .values "secrets" .secrets "catalogue" .catalogue "serves" false "versioned" true -}}
{{- $current := dict "buildId" $versions.buildId "labelled" true "scaled" .values.autoscaling.enabled }}
{{- $_ := set $current "name" (include "baton.workerName" (dict "component" .component "buildId" $versions.buildId)) -}}
{{ include "baton.deployment" (merge $current $worker) }}
{{- range $versions.old }}
{{- $old := dict "buildId" .buildId "labelled" true "scaled" false "image" .image "replicas" (get . $.oldReplicas | default 1) }}
{{- $_ := set $old "name" (include "baton.workerName" (dict "component" $.component "buildId" .buildId)) }}
---
{{ include "baton.deployment" (merge $old $worker) }}
{{- end }}
---
{{ include "baton.disruptionBudget" . }}
{{- if .values.autoscaling.enabled }}
---
{{ include "baton.scaledObject" (merge (dict "name" $current.name) .) }}
{{- end }}
{{- end -}}

{{/* Scales a worker by its task queues. Arguments: as above, and name. */}}
{{- define "baton.scaledObject" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
{{- $identity := dict "root" $root "component" .component "name" .name "buildId" $values.versions.buildId -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "baton.metadata" $identity | nindent 2 }}
spec:
  scaleTargetRef:
    name: {{ include "baton.fullname" $root }}-{{ .name }}
  minReplicaCount: {{ .values.autoscaling.minReplicas }}
  maxReplicaCount: {{ .values.autoscaling.maxReplicas }}
  pollingInterval: {{ $values.keda.pollingInterval }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        scaleDown:
          stabilizationWindowSeconds: {{ .values.autoscaling.scaleDownSeconds }}
          policies:
            - { type: Pods, value: 1, periodSeconds: 60 }
  triggers:
    {{- range $queue, $types := .queues }}
    - type: temporal
      metadata:
        endpoint: {{ $values.configuration.TEMPORAL_ADDRESS }}
        namespace: {{ $values.configuration.TEMPORAL_NAMESPACE | quote }}
        taskQueue: {{ include "baton.taskQueue" $root }}-{{ $queue }}
        queueTypes: {{ $types }}
        targetQueueSize: {{ get $.values.autoscaling.backlog $queue | quote }}
        {{- with $values.versions.buildId }}
        workerDeploymentName: {{ include "baton.deploymentOfVersions" $root | quote }}
        workerDeploymentBuildId: {{ . | quote }}
        {{- end }}
        {{- if $values.keda.apiKey }}
        apiKeyFromEnv: TEMPORAL_API_KEY
        {{- end }}
      {{- with $values.keda.triggerAuthentication }}
      authenticationRef: { name: {{ . }} }
      {{- end }}
    {{- end }}
{{- end -}}
