{{/* Labels of every object. */}}
{{- define "train.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Name, labels and annotations of an object: (list . NAME). */}}
{{- define "train.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
labels:
  {{- include "train.labels" $root | nindent 2 }}
{{- with $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Full name of the image. */}}
{{- define "train.image" -}}
{{- $name := .Values.image.name -}}
{{- with .Values.imageRegistry }}{{ $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end -}}
{{- if .Values.image.digest -}}
{{ $name }}@{{ .Values.image.digest }}
{{- else -}}
{{ $name }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* An environment variable from a Secret: (list NAME SECRET KEY). */}}
{{- define "train.secretEnv" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 }}
      key: {{ index . 2 }}
{{- end -}}

{{/* Environment of the container: a home that can be written, the company's proxy and authorities, the storage's keys. */}}
{{- define "train.env" -}}
- name: HOME
  value: /tmp
{{- $none := list .Values.proxy.none "localhost" "127.0.0.1" | compact | join "," -}}
{{- if or .Values.proxy.http .Values.proxy.https }}
{{- range $name, $value := dict "http_proxy" .Values.proxy.http "https_proxy" .Values.proxy.https "no_proxy" $none }}
{{- if $value }}
- name: {{ $name }}
  value: {{ $value | quote }}
- name: {{ upper $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.caBundle.configMap }}
{{- range list "SSL_CERT_FILE" "REQUESTS_CA_BUNDLE" "CURL_CA_BUNDLE" }}
- name: {{ . }}
  value: /etc/context1/ca/ca.crt
{{- end }}
{{- end }}
{{- with .Values.storage.existingSecret }}
{{ include "train.secretEnv" (list "CONTEXT1_STORAGE__ACCESS_KEY" . "access_key") }}
{{ include "train.secretEnv" (list "CONTEXT1_STORAGE__SECRET_KEY" . "secret_key") }}
{{- end }}
{{- with .Values.pod.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The pod: the restricted standard, and a root that cannot be written. */}}
{{- define "train.podSpec" -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .Values.pod.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- range $name, $value := pick .Values.pod "nodeSelector" "tolerations" "affinity" "runtimeClassName" "priorityClassName" }}
{{- with $value }}
{{ $name }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  # The name by which the Trainer finds it.
  - name: node
    image: {{ include "train.image" . }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    # What a TrainJob without a command gets: only the launcher knows the job.
    command: [python, -m, context1.training.node]
    env:
      {{- include "train.env" . | nindent 6 }}
    {{- with .Values.environmentSecret }}
    envFrom:
      - secretRef:
          name: {{ . }}
    {{- end }}
    resources:
      {{- toYaml .Values.pod.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      runAsNonRoot: true
      capabilities:
        drop: [ALL]
    volumeMounts:
      - name: tmp
        mountPath: /tmp
      - name: shm
        mountPath: /dev/shm
      {{- if .Values.caBundle.configMap }}
      - name: ca
        mountPath: /etc/context1/ca
        readOnly: true
      {{- end }}
      {{- with .Values.pod.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: {{ .Values.pod.tmpSize }}
  - name: shm
    emptyDir:
      medium: Memory
      sizeLimit: {{ .Values.pod.shmSize }}
  {{- if .Values.caBundle.configMap }}
  - name: ca
    configMap:
      name: {{ .Values.caBundle.configMap }}
      items:
        - key: {{ .Values.caBundle.key }}
          path: ca.crt
  {{- end }}
  {{- with .Values.pod.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
